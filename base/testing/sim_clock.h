// A clock that moves only when told.

#ifndef LOCKSTEP_BASE_TESTING_SIM_CLOCK_H_
#define LOCKSTEP_BASE_TESTING_SIM_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace lockstep {

// Thread-safe. Wall time starts at a fixed date so that tests can compare texts.
class SimClock final : public Clock {
 public:
  // 2026-01-02T03:04:05Z
  static constexpr int64_t kStartWallNanos = 1'767'323'045 * kNanosPerSecond;

  int64_t WallNanos() const override { return kStartWallNanos + elapsed_.load(); }
  int64_t MonotonicNanos() const override { return elapsed_.load(); }

  void Advance(int64_t nanos) { elapsed_ += nanos; }

 private:
  std::atomic<int64_t> elapsed_{0};
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_TESTING_SIM_CLOCK_H_
