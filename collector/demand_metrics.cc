#include "collector/demand_metrics.h"

namespace lockstep {
namespace {

prometheus::Counter& AddCounter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

DemandMetrics::DemandMetrics(prometheus::Registry& registry)
    : requested(AddCounter(registry, "lockstep_collector_demands_requested_total",
                           "Processes that agents were to look at on demand.")),
      done(AddCounter(registry, "lockstep_collector_demands_done_total", "Of these, those that were looked at.")),
      failed(AddCounter(registry, "lockstep_collector_demands_failed_total",
                        "Of these, those that were not: refused, not answered in time, or the process ended.")),
      strays(AddCounter(registry, "lockstep_collector_demand_strays_total",
                        "Parts of answers to demands that nobody waits for any more.")) {}

}  // namespace lockstep
