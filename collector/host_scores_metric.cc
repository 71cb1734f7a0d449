#include "collector/host_scores_metric.h"

#include <set>

namespace lockstep {

HostScoresMetric::HostScoresMetric(prometheus::Registry& registry)
    : family_(
          prometheus::BuildGauge()
              .Name("lockstep_host_lemon_score")
              .Help("Incidents that blamed the host, each halved every 14 days; of the hosts with the highest scores.")
              .Register(registry)) {}

void HostScoresMetric::Set(const std::vector<wire::HostHistory>& histories) {
  std::set<std::string> hosts;
  for (const wire::HostHistory& history : histories) {
    hosts.insert(history.host());
    prometheus::Gauge*& gauge = gauges_[history.host()];
    if (gauge == nullptr) gauge = &family_.Add({{"host", history.host()}});
    gauge->Set(history.score());
  }
  for (auto entry = gauges_.begin(); entry != gauges_.end();) {
    if (hosts.contains(entry->first)) {
      ++entry;
      continue;
    }
    family_.Remove(entry->second);
    entry = gauges_.erase(entry);
  }
}

}  // namespace lockstep
