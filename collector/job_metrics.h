// What the collector exports of the jobs that it watches, each under the label `training_job`. The limit on jobs bounds
// the series: what is removed with a job is all of its series.
//
// Thread-safe; to set a job costs a lock and a look into a map.

#ifndef LOCKSTEP_COLLECTOR_JOB_METRICS_H_
#define LOCKSTEP_COLLECTOR_JOB_METRICS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"

namespace lockstep {

// Seconds of a step, the mean over those that the newest look saw: measured = reference + explained + unexplained.
struct LedgerGauges {
  double measured_seconds = 0;
  double reference_seconds = 0;
  double explained_seconds = 0;    // all lines together
  double unexplained_seconds = 0;  // negative: the job lost less than nothing
  double error_seconds = 0;        // standard error of measured minus reference
};

// State in the words of the detector.
struct JobGauges {
  std::string state;
  double steps_per_second = 0;
  double step_seconds_median = 0;
  double ranks = 0;
  std::optional<LedgerGauges> ledger;  // empty = no look could tell yet
};

class JobMetrics {
 public:
  // Borrows `registry`.
  explicit JobMetrics(prometheus::Registry& registry);

  // Shows the job, or takes all its series away. A job without a ledger has no series of one.
  void Set(const std::string& job, const JobGauges& gauges);
  void Remove(const std::string& job);

 private:
  struct Series {
    std::vector<prometheus::Gauge*> states;  // in the order of the state words
    prometheus::Gauge* steps_per_second;
    prometheus::Gauge* step_seconds_median;
    prometheus::Gauge* ranks;
    std::vector<prometheus::Gauge*> ledger;  // in the order of the table of its parts; empty = there is none
    std::string state;
  };

  Series AddLocked(const std::string& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetLedgerLocked(const std::string& job, const std::optional<LedgerGauges>& gauges, Series& series)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountStateLocked(const std::string& state, double change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  prometheus::Family<prometheus::Gauge>& jobs_;
  prometheus::Family<prometheus::Gauge>& states_;
  prometheus::Family<prometheus::Gauge>& steps_per_second_;
  prometheus::Family<prometheus::Gauge>& step_seconds_median_;
  prometheus::Family<prometheus::Gauge>& ranks_;
  prometheus::Family<prometheus::Gauge>& ledgers_;

  Mutex mutex_;
  std::map<std::string, Series> series_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_JOB_METRICS_H_
