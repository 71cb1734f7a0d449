// The scores of the hosts that were blamed most (host_histories.h), as lockstep_host_lemon_score{host}.
//
// As many series as it is given hosts; a host that is given no more has none. Not thread-safe, but may be scraped
// meanwhile.

#ifndef LOCKSTEP_COLLECTOR_HOST_SCORES_METRIC_H_
#define LOCKSTEP_COLLECTOR_HOST_SCORES_METRIC_H_

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <vector>

#include "proto/incident.pb.h"

namespace lockstep {

class HostScoresMetric {
 public:
  // Borrows `registry`.
  explicit HostScoresMetric(prometheus::Registry& registry);

  void Set(const std::vector<wire::HostHistory>& histories);

 private:
  prometheus::Family<prometheus::Gauge>& family_;
  std::map<std::string, prometheus::Gauge*> gauges_;  // by host
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HOST_SCORES_METRIC_H_
