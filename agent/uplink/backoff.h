// How long to wait before the next attempt to connect: exponential with full jitter, so that the agents of a fleet do
// not come back in step after a collector's restart.

#ifndef LOCKSTEP_AGENT_UPLINK_BACKOFF_H_
#define LOCKSTEP_AGENT_UPLINK_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {

// Not thread-safe. Borrows `random`.
class Backoff {
 public:
  static constexpr int64_t kFirstNanos = 200 * kNanosPerMilli;
  static constexpr int64_t kMaxNanos = 30 * kNanosPerSecond;

  explicit Backoff(Random& random) : random_(random) {}

  // Uniform in [half, whole] of a ceiling that doubles with each call, from kFirstNanos to kMaxNanos.
  int64_t NextNanos() {
    const int64_t ceiling = ceiling_;
    ceiling_ = std::min(ceiling_ * 2, kMaxNanos);
    return ceiling / 2 + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(ceiling / 2) + 1));
  }

  // After a success: the next failure waits briefly again.
  void Reset() { ceiling_ = kFirstNanos; }

 private:
  Random& random_;
  int64_t ceiling_ = kFirstNanos;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_BACKOFF_H_
