// How much of their logs engines may be given that begin anew while others wait.
//
// Some ten thousand inputs take a second. A shard gives so many, and for a while no more of them: a store that loses
// entries again and again must not hold up detection. Of these no job gets more than its share of a shard where all
// begin anew. Not thread-safe; times are stamps of the shard.

#ifndef LOCKSTEP_COLLECTOR_LOG_ALLOWANCE_H_
#define LOCKSTEP_COLLECTOR_LOG_ALLOWANCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace lockstep {

class LogAllowance {
 public:
  static constexpr int64_t kMaxInputs = 50'000;
  static constexpr int64_t kRenewNanos = 60 * kNanosPerSecond;
  // Fewer tell an engine nothing.
  static constexpr int64_t kLeastInputs = 200;

  // How many inputs an engine may be given, of a shard with so many jobs, at least one; 0 = none.
  int64_t Left(int64_t now_ns, size_t jobs) {
    if (now_ns - renewed_ns_ > kRenewNanos) {
      left_ = kMaxInputs;
      renewed_ns_ = now_ns;
    }
    const int64_t most = std::min(left_, kMaxInputs / static_cast<int64_t>(jobs));
    return most < kLeastInputs ? 0 : most;
  }

  void Spend(uint64_t inputs) { left_ -= static_cast<int64_t>(inputs); }

 private:
  int64_t left_ = 0;
  int64_t renewed_ns_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LOG_ALLOWANCE_H_
