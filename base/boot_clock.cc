#include "base/boot_clock.h"

#include <ctime>

#include "base/clock.h"

namespace lockstep {
namespace {

class OperatingSystemBootClock final : public BootClock {
 public:
  int64_t BootNanos() const override {
    timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * kNanosPerSecond + now.tv_nsec;
  }
};

}  // namespace

const BootClock& RealBootClock() {
  static const OperatingSystemBootClock clock;
  return clock;
}

}  // namespace lockstep
