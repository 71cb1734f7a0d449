// What the collector exports about alerts: what became of them by receiver, and a series per open incident for rules
// that name job, host and class. Label sets are bounded: receivers by the file that names them, incidents by kMaxOpen.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_METRICS_H_
#define LOCKSTEP_COLLECTOR_ALERT_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"

namespace lockstep {

// Since the start, and now.
struct AlertTotals {
  uint64_t sent = 0;
  uint64_t retried = 0;  // attempts
  uint64_t failed = 0;
  uint64_t dropped = 0;
  double longest_wait_seconds = 0;  // of what could be sent now
};

struct OpenIncidentLabels {
  uint64_t incident = 0;
  std::string job;
  std::string host;
  std::string verdict_class;
  std::string scope;
  std::string severity;
  auto operator<=>(const OpenIncidentLabels&) const = default;
};

class AlertMetrics {
 public:
  // Series of open incidents; what is beyond is counted.
  static constexpr size_t kMaxOpen = 1'000;

  explicit AlertMetrics(prometheus::Registry& registry);

  prometheus::Gauge& waiting;  // of all receivers

  // Raises the counters of each receiver to its totals. Receivers that are not there any more keep theirs.
  void SetTotals(const std::map<std::string, AlertTotals>& by_receiver);

  // Replaces what is open: the kMaxOpen with the lowest numbers are shown.
  void SetOpen(const std::set<OpenIncidentLabels>& open);

 private:
  prometheus::Family<prometheus::Counter>& totals_;
  prometheus::Family<prometheus::Gauge>& longest_wait_;
  prometheus::Family<prometheus::Gauge>& open_;
  prometheus::Gauge& open_omitted_;

  Mutex mutex_;
  std::map<OpenIncidentLabels, prometheus::Gauge*> open_series_ ABSL_GUARDED_BY(mutex_);  // at most kMaxOpen
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_METRICS_H_
