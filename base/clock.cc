#include "base/clock.h"

#include <ctime>

#include "base/boot_clock.h"

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

class OperatingSystemBootClock final : public BootClock {
 public:
  int64_t BootNanos() const override { return ReadNanos(CLOCK_BOOTTIME); }
};

}  // namespace

const BootClock& RealBootClock() {
  static const OperatingSystemBootClock clock;
  return clock;
}

Clock& RealClock() {
  static OperatingSystemClock clock;
  return clock;
}

}  // namespace lockstep
