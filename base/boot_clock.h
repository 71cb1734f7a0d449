// The clock that goes on through suspension and starts again with each boot: what two processes of one boot can agree
// on.
//
// Apart from Clock: only what outlives its process needs it.

#ifndef LOCKSTEP_BASE_BOOT_CLOCK_H_
#define LOCKSTEP_BASE_BOOT_CLOCK_H_

#include <cstdint>

namespace lockstep {

// Implementations are thread-safe.
class BootClock {
 public:
  virtual ~BootClock() = default;

  // Nanoseconds of CLOCK_BOOTTIME: since the boot, times of suspension included.
  virtual int64_t BootNanos() const = 0;
};

// The operating system's clock. Lives for the whole process.
const BootClock& RealBootClock();

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_BOOT_CLOCK_H_
