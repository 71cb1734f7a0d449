// Time as an injected dependency. Nothing outside base/ asks the operating system for the time.

#ifndef LOCKSTEP_BASE_CLOCK_H_
#define LOCKSTEP_BASE_CLOCK_H_

#include <cstdint>

namespace lockstep {

inline constexpr int64_t kNanosPerMicro = 1'000;
inline constexpr int64_t kNanosPerMilli = 1'000'000;
inline constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Reads time. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds since the Unix epoch. May jump; only for display and for keys of history.
  virtual int64_t WallNanos() const = 0;

  // Nanoseconds of CLOCK_MONOTONIC: never goes back, shared by all processes of one host, meaningless on another.
  virtual int64_t MonotonicNanos() const = 0;
};

// The operating system's clock. Lives for the whole process.
Clock& RealClock();

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_CLOCK_H_
