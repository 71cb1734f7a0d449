#include "base/clock.h"

#include <ctime>

namespace lockstep {
namespace {

int64_t ReadNanos(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

class OperatingSystemClock final : public Clock {
 public:
  int64_t WallNanos() const override { return ReadNanos(CLOCK_REALTIME); }
  int64_t MonotonicNanos() const override { return ReadNanos(CLOCK_MONOTONIC); }
};

}  // namespace

Clock& RealClock() {
  static OperatingSystemClock clock;
  return clock;
}

}  // namespace lockstep
