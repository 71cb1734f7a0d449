#include "agent/profiles/profile_order.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {

std::string ProfileOrder(const wire::ProfileParameters& parameters, const std::string& trace) {
  const uint32_t steps =
      parameters.steps() == 0 ? kDefaultProfileSteps : std::min(parameters.steps(), kMaxProfileSteps);
  const uint32_t millis = std::min(parameters.duration_ms(), kMaxProfileMillis);
  std::string order = absl::StrCat("ACTIVITIES_LOG_FILE=", trace, "\n");
  if (millis > 0) {
    absl::StrAppend(&order, "PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=", millis, "\n");
  } else {
    absl::StrAppend(&order, "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=", kProfileRoundUp,
                    "\nACTIVITIES_ITERATIONS=", steps, "\n");
  }
  if (parameters.python()) order += "PROFILE_WITH_STACK=true\n";
  return order;
}

}  // namespace lockstep
