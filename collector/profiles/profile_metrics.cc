#include "collector/profiles/profile_metrics.h"

namespace lockstep {

ProfileMetrics::ProfileMetrics(prometheus::Registry& registry)
    : by_outcome(prometheus::BuildCounter()
                     .Name("lockstep_collector_self_profiles_total")
                     .Help("Jobs that the collector had profiled by itself, by what was found: found, nothing, failed.")
                     .Register(registry)),
      found(by_outcome.Add({{"outcome", "found"}})),
      nothing(by_outcome.Add({{"outcome", "nothing"}})),
      failed(by_outcome.Add({{"outcome", "failed"}})) {}

}  // namespace lockstep
