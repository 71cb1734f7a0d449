// What the collector exports about looks at processes that were demanded of agents (collector/demands).

#ifndef LOCKSTEP_COLLECTOR_DEMAND_METRICS_H_
#define LOCKSTEP_COLLECTOR_DEMAND_METRICS_H_

#include "prometheus/counter.h"
#include "prometheus/registry.h"

namespace lockstep {

// Thread-safe.
struct DemandMetrics {
  explicit DemandMetrics(prometheus::Registry& registry);

  void Count(bool ok) { (ok ? done : failed).Increment(); }

  prometheus::Counter& requested;
  prometheus::Counter& done;
  prometheus::Counter& failed;  // also those that were refused or not answered
  prometheus::Counter& strays;  // parts of answers that nobody waits for
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMAND_METRICS_H_
