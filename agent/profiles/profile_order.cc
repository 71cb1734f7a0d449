#include "agent/profiles/profile_order.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

uint32_t CappedOr(uint32_t value, uint32_t otherwise, uint32_t most) {
  return value == 0 ? otherwise : std::min(value, most);
}

}  // namespace

std::string ProfileOrder(const wire::ProfileParameters& parameters, const std::string& trace) {
  const uint32_t steps = CappedOr(parameters.steps(), kDefaultProfileSteps, kMaxProfileSteps);
  const uint32_t round_up = CappedOr(parameters.round_up(), kDefaultProfileRoundUp, kMaxProfileRoundUp);
  const uint32_t millis = std::min(parameters.duration_ms(), kMaxProfileMillis);
  std::string order = absl::StrCat("ACTIVITIES_LOG_FILE=", trace, "\n");
  if (millis > 0) {
    absl::StrAppend(&order, "PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=", millis, "\n");
  } else {
    absl::StrAppend(&order, "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=", round_up,
                    "\nACTIVITIES_ITERATIONS=", steps, "\n");
  }
  if (parameters.python()) order += "PROFILE_WITH_STACK=true\n";
  return order;
}

}  // namespace lockstep
