// What a process of PyTorch is told when it is to take a profile: lines of KEY=VALUE, as Kineto reads them. Pure.

#ifndef LOCKSTEP_AGENT_PROFILES_PROFILE_ORDER_H_
#define LOCKSTEP_AGENT_PROFILES_PROFILE_ORDER_H_

#include <cstdint>
#include <string>

#include "proto/patterns.pb.h"

namespace lockstep {

inline constexpr uint32_t kDefaultProfileSteps = 5;
inline constexpr uint32_t kMaxProfileSteps = 100;
// Of the number of the step at which counted steps begin: that all ranks begin at the same one.
inline constexpr uint32_t kProfileRoundUp = 10;
inline constexpr uint32_t kMaxProfileMillis = 60'000;

// `parameters` are somebody's: they are capped. `trace` is where the process is to write.
std::string ProfileOrder(const wire::ProfileParameters& parameters, const std::string& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_PROFILES_PROFILE_ORDER_H_
