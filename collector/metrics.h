// Every metric that the collector exports about itself and about the jobs that it watches. Registered here, in
// alert_metrics.h, in demand_metrics.h, in history_metrics.h and in job_metrics.h. Label sets are bounded: jobs by the
// limit on jobs, everything else by tables in the code.
//
// Thread-safe; updating one costs an atomic addition, updating one with labels a lock and a hash.

#ifndef LOCKSTEP_COLLECTOR_METRICS_H_
#define LOCKSTEP_COLLECTOR_METRICS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "collector/alert_metrics.h"
#include "collector/demand_metrics.h"
#include "collector/history_metrics.h"
#include "collector/job_metrics.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace lockstep {

// What was asked of agents beyond their reports, and what came of it. Thread-safe.
struct PullMetrics {
  explicit PullMetrics(prometheus::Registry& registry);

  prometheus::Counter& requested;
  prometheus::Counter& unsent;
  prometheus::Counter& operations;
  prometheus::Counter& operations_left_out;
};

// Hosts asked to watch what transfers wait for, and what they said. Thread-safe.
struct WatchMetrics {
  explicit WatchMetrics(prometheus::Registry& registry);

  prometheus::Counter& requested;
  prometheus::Counter& unsent;
  prometheus::Counter& answered;
  prometheus::Counter& refused;
};

// Agents and their streams. Thread-safe.
struct FleetMetrics {
  explicit FleetMetrics(prometheus::Registry& registry);

  prometheus::Counter& conflicts;  // takeovers between living agents of one host
  prometheus::Gauge& streams;
  prometheus::Gauge& connected;
  prometheus::Gauge& silent;
  prometheus::Gauge& known;
  prometheus::Gauge& missing;

  // Hosts whose agents get nothing from `source`, which is one of FailingSources::kNames.
  void SetFailingSource(const std::string& source, int hosts) { failing_sources.Add({{"source", source}}).Set(hosts); }

  prometheus::Family<prometheus::Gauge>& failing_sources;
};

// What readers were refused, and answers that did not hold all that was asked for. Thread-safe.
struct QueryMetrics {
  explicit QueryMetrics(prometheus::Registry& registry);

  prometheus::Family<prometheus::Counter>& refused;
  prometheus::Counter& refused_client;  // it has too many queries under way
  prometheus::Counter& refused_all;     // all clients together have
  prometheus::Counter& cut;
};

// Something that was tried, by what came of it. Thread-safe.
struct OutcomeMetrics {
  OutcomeMetrics(prometheus::Registry& registry, const char* name, const char* help,
                 const std::map<std::string, std::string>& labels = {});

  void Count(bool ok) { (ok ? succeeded : failed).Increment(); }

  prometheus::Family<prometheus::Counter>& by_outcome;
  prometheus::Counter& succeeded;
  prometheus::Counter& failed;
};

// The key set of a provider of identities, where it comes from a URL. Thread-safe.
struct KeySetMetrics : OutcomeMetrics {
  KeySetMetrics(prometheus::Registry& registry, const std::string& issuer);

  prometheus::Gauge& last_success_seconds;
};

// Calls that were refused because of who called, and who asked for what. Thread-safe.
struct AccessMetrics {
  explicit AccessMetrics(prometheus::Registry& registry);

  prometheus::Family<prometheus::Counter>& refused;
  prometheus::Counter& refused_unknown;  // no certificate or token that counts
  prometheus::Counter& refused_role;     // known, and not allowed to
  prometheus::Counter& audit_removed;    // records that made room for newer ones
  prometheus::Registry& registry;        // of the key sets of providers, which rules name
};

// Backups of history. Thread-safe.
struct BackupMetrics : OutcomeMetrics {
  explicit BackupMetrics(prometheus::Registry& registry);

  prometheus::Gauge& last_success_seconds;
};

class CollectorMetrics {
 private:
  std::shared_ptr<prometheus::Registry> registry_;  // shared because the exposer demands it

 public:
  explicit CollectorMetrics(const std::string& version);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

  // Ingest.
  prometheus::Counter& reports_received;
  prometheus::Counter& report_bytes_received;
  prometheus::Counter& operations_received;
  prometheus::Counter& samples_received;
  prometheus::Counter& reports_duplicate;
  prometheus::Counter& reports_missing;  // sequence numbers that an agent left out
  prometheus::Counter& reads_withheld;   // times a stream was not read because a queue was full
  prometheus::Counter& acks_sent;
  prometheus::Counter& agent_records_dropped;  // as agents report it
  FleetMetrics agents;

  // Shards and detection.
  prometheus::Histogram& detection_seconds;
  prometheus::Gauge& watermark_lag_seconds;
  prometheus::Counter& incident_events;
  prometheus::Counter& job_name_conflicts;  // reports of ranks that another process of their job is
  JobMetrics jobs;
  PullMetrics pulls;
  WatchMetrics watches;
  DemandMetrics demands;
  QueryMetrics queries;
  AccessMetrics access;

  // Store.
  prometheus::Histogram& store_write_seconds;
  prometheus::Counter& store_write_failures;
  prometheus::Counter& store_entries_written;
  prometheus::Counter& store_points_written;
  prometheus::Gauge& store_healthy;
  HistoryMetrics history;

  AlertMetrics alerts;

  // Process.
  prometheus::Gauge& start_time_seconds;
  OutcomeMetrics reloads;  // of the settings
  BackupMetrics backups;

  // By reason; the reasons are those of the code, not of the input.
  void CountRejected(const std::string& reason);
  void CountDropped(const std::string& reason, double count = 1);

  void SetQueue(const std::string& queue, size_t depth, size_t capacity);

  // Replaces the count of incidents by (state, class, scope).
  struct IncidentLabels {
    std::string state;
    std::string verdict_class;
    std::string scope;
    auto operator<=>(const IncidentLabels&) const = default;
  };
  void SetIncidents(const std::map<IncidentLabels, int>& counts);

  // Names of all families, for the test that checks them against the house style.
  std::vector<std::string> FamilyNames() const;

 private:
  prometheus::Family<prometheus::Counter>& rejected_;
  prometheus::Family<prometheus::Counter>& dropped_;
  prometheus::Family<prometheus::Gauge>& queue_depth_;
  prometheus::Family<prometheus::Gauge>& queue_capacity_;
  prometheus::Family<prometheus::Gauge>& incidents_;

  Mutex mutex_;
  std::map<IncidentLabels, prometheus::Gauge*> incident_series_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_METRICS_H_
