// How long a profile lasts: as long as so many steps of the job do.
//
// Hosts run ahead of their GPUs: the next steps are launched in no time, and counted ones show none of the GPU's work.

#ifndef LOCKSTEP_COLLECTOR_DEMANDS_PROFILE_LENGTH_H_
#define LOCKSTEP_COLLECTOR_DEMANDS_PROFILE_LENGTH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockstep {

inline constexpr uint32_t kUsualProfileSteps = 5;
inline constexpr double kLeastProfileSeconds = 0.5;  // less would be launches alone
inline constexpr double kMostProfileSeconds = 60;

// In milliseconds; 0 = the length of steps is not known, and steps have to be counted. Pure.
inline uint32_t ProfileMillis(double step_seconds, uint32_t steps) {
  if (!(step_seconds > 0)) return 0;
  constexpr double kMillisPerSecond = 1000;
  const double seconds = std::clamp(steps * step_seconds, kLeastProfileSeconds, kMostProfileSeconds);
  return static_cast<uint32_t>(std::ceil(seconds * kMillisPerSecond));
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMANDS_PROFILE_LENGTH_H_
