// What the collector exports about profiles that it has taken by itself (self_profiles.h).

#ifndef LOCKSTEP_COLLECTOR_PROFILES_PROFILE_METRICS_H_
#define LOCKSTEP_COLLECTOR_PROFILES_PROFILE_METRICS_H_

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/registry.h"

namespace lockstep {

// Thread-safe.
struct ProfileMetrics {
  explicit ProfileMetrics(prometheus::Registry& registry);

  prometheus::Family<prometheus::Counter>& by_outcome;
  prometheus::Counter& found;
  prometheus::Counter& nothing;  // that differs between ranks, or is more than expected
  prometheus::Counter& failed;   // no rank has answered, or the audit cannot be written
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_PROFILES_PROFILE_METRICS_H_
