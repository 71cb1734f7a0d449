// So many in each second of a clock, and no more: lines of a log that anybody can cause, checks that cost a CPU.
//
// Pure. Thread-compatible.

#ifndef LOCKSTEP_BASE_RATION_H_
#define LOCKSTEP_BASE_RATION_H_

#include <cstdint>

#include "base/clock.h"

namespace lockstep {

class Ration {
 public:
  explicit constexpr Ration(int per_second) : per_second_(per_second) {}

  // Whether there is one left in the second of `monotonic_ns`; it is gone then.
  bool Take(int64_t monotonic_ns) {
    const int64_t second = monotonic_ns / kNanosPerSecond;
    if (second != second_) left_ = per_second_;
    second_ = second;
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  const int per_second_;
  int64_t second_ = -1;
  int left_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_RATION_H_
