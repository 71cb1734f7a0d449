// The real clocks, moved by as much as a test wants.

#ifndef LOCKSTEP_BASE_TESTING_FORWARD_CLOCK_H_
#define LOCKSTEP_BASE_TESTING_FORWARD_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace lockstep {

// The time of day and of the machine. Thread-safe.
class ForwardClock final : public Clock {
 public:
  int64_t WallNanos() const override { return RealClock().WallNanos() + forward_ns_.load() + set_ns_.load(); }
  int64_t MonotonicNanos() const override { return RealClock().MonotonicNanos() + forward_ns_.load(); }
  void Forward(int64_t nanos) { forward_ns_ += nanos; }
  // Somebody sets the time of day.
  void SetWall(int64_t difference_ns) { set_ns_ += difference_ns; }

 private:
  std::atomic<int64_t> forward_ns_{0};
  std::atomic<int64_t> set_ns_{0};
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_TESTING_FORWARD_CLOCK_H_
