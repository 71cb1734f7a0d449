#include "collector/alert_metrics.h"

#include <iterator>

namespace lockstep {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;

struct Outcome {
  const char* name;
  uint64_t AlertTotals::*total;
};

constexpr Outcome kOutcomes[] = {
    {"sent", &AlertTotals::sent},
    {"retried", &AlertTotals::retried},
    {"failed", &AlertTotals::failed},
    {"dropped", &AlertTotals::dropped},
};

}  // namespace

AlertMetrics::AlertMetrics(prometheus::Registry& registry)
    : waiting(BuildGauge()
                  .Name("lockstep_collector_alerts_waiting")
                  .Help("Alerts that are not delivered yet.")
                  .Register(registry)
                  .Add({})),
      totals_(BuildCounter()
                  .Name("lockstep_collector_alerts_total")
                  .Help("Alerts to receivers, by what became of them; retried counts attempts.")
                  .Register(registry)),
      longest_wait_(BuildGauge()
                        .Name("lockstep_collector_alerts_longest_wait_seconds")
                        .Help("For how long the oldest alert that its receiver should have has been waiting.")
                        .Register(registry)),
      open_(BuildGauge()
                .Name("lockstep_incident_open")
                .Help("1 for each open incident; lockstep_incidents counts them all.")
                .Register(registry)),
      open_omitted_(BuildGauge()
                        .Name("lockstep_incident_open_omitted")
                        .Help("Open incidents without a series of their own.")
                        .Register(registry)
                        .Add({})) {}

void AlertMetrics::SetTotals(const std::map<std::string, AlertTotals>& by_receiver) {
  for (const auto& [receiver, totals] : by_receiver) {
    for (const Outcome& outcome : kOutcomes) {
      prometheus::Counter& counter = totals_.Add({{"receiver", receiver}, {"outcome", outcome.name}});
      counter.Increment(static_cast<double>(totals.*outcome.total) - counter.Value());
    }
    longest_wait_.Add({{"receiver", receiver}}).Set(totals.longest_wait_seconds);
  }
}

void AlertMetrics::SetOpen(const std::set<OpenIncidentLabels>& open) {
  const auto end = open.size() <= kMaxOpen ? open.end() : std::next(open.begin(), kMaxOpen);
  open_omitted_.Set(static_cast<double>(open.size() - static_cast<size_t>(std::distance(open.begin(), end))));
  const std::set<OpenIncidentLabels> shown(open.begin(), end);
  MutexLock lock(mutex_);
  for (auto series = open_series_.begin(); series != open_series_.end();) {
    if (shown.contains(series->first)) {
      ++series;
      continue;
    }
    open_.Remove(series->second);
    series = open_series_.erase(series);
  }
  for (const OpenIncidentLabels& labels : shown) {
    prometheus::Gauge*& gauge = open_series_[labels];
    if (gauge != nullptr) continue;
    gauge = &open_.Add({{"incident", std::to_string(labels.incident)},
                        {"training_job", labels.job},
                        {"host", labels.host},
                        {"class", labels.verdict_class},
                        {"scope", labels.scope},
                        {"severity", labels.severity}});
    gauge->Set(1);
  }
}

}  // namespace lockstep
