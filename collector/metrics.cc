#include "collector/metrics.h"

namespace lockstep {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& CounterFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& GaugeFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Labels With(prometheus::Labels labels, const char* name, const char* value) {
  labels.emplace(name, value);
  return labels;
}

Counter& AddCounter(Registry& registry, const char* name, const char* help) {
  return CounterFamily(registry, name, help).Add({});
}

Gauge& AddGauge(Registry& registry, const char* name, const char* help) {
  return GaugeFamily(registry, name, help).Add({});
}

Histogram& AddHistogram(Registry& registry, const char* name, const char* help) {
  const Histogram::BucketBoundaries seconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, seconds);
}

}  // namespace

PullMetrics::PullMetrics(prometheus::Registry& registry)
    : requested(AddCounter(registry, "lockstep_collector_pulls_requested_total",
                           "Agents asked for the operations that they hold.")),
      unsent(AddCounter(registry, "lockstep_collector_pulls_unsent_total",
                        "Requests for operations to agents that were not connected or too busy.")),
      operations(AddCounter(registry, "lockstep_collector_operations_pulled_total",
                            "Operations received because they were asked for.")),
      operations_left_out(AddCounter(registry, "lockstep_collector_operations_left_out_total",
                                     "Operations asked for that did not fit into an agent's answer.")) {}

WatchMetrics::WatchMetrics(prometheus::Registry& registry)
    : requested(AddCounter(registry, "lockstep_collector_watches_requested_total",
                           "Agents asked to have recorders watch what transfers wait for.")),
      unsent(AddCounter(registry, "lockstep_collector_watches_unsent_total",
                        "Requests to watch transfers to agents that were not connected or too busy.")),
      answered(AddCounter(registry, "lockstep_collector_watches_answered_total",
                          "Agents whose recorders watch transfers as asked.")),
      refused(AddCounter(registry, "lockstep_collector_watches_refused_total",
                         "Agents that could ask no recorder to watch transfers.")) {}

FleetMetrics::FleetMetrics(prometheus::Registry& registry)
    : conflicts(AddCounter(registry, "lockstep_collector_agent_conflicts_total", "Turns of two agents of one host.")),
      streams(AddGauge(registry, "lockstep_collector_streams", "Open ingest streams.")),
      connected(AddGauge(registry, "lockstep_collector_agents_connected", "Agents with an open stream.")),
      silent(AddGauge(registry, "lockstep_collector_agents_silent",
                      "Known agents without a report for longer than detector.host_silent.")),
      known(AddGauge(registry, "lockstep_collector_agents_known", "Agents seen lately, connected or not.")),
      missing(AddGauge(registry, "lockstep_collector_hosts_missing",
                       "Hosts that reported once, or are in the inventory, and are silent.")),
      failing_sources(GaugeFamily(registry, "lockstep_collector_sources_failing",
                                  "Hosts whose agents get nothing from this source: it fails, hangs or is gone.")) {}

QueryMetrics::QueryMetrics(prometheus::Registry& registry)
    : refused(CounterFamily(registry, "lockstep_collector_queries_refused_total",
                            "Queries refused because too many were under way: of one client, or of all.")),
      refused_client(refused.Add({{"limit", "client"}})),
      refused_all(refused.Add({{"limit", "all"}})),
      cut(AddCounter(registry, "lockstep_collector_answers_cut_total",
                     "Answers that said that there is more than they hold.")) {}

AccessMetrics::AccessMetrics(prometheus::Registry& registry)
    : refused(
          CounterFamily(registry, "lockstep_collector_calls_refused_total",
                        "Calls refused because nobody known made them, or somebody whose role does not allow them.")),
      refused_unknown(refused.Add({{"reason", "unknown"}})),
      refused_role(refused.Add({{"reason", "role"}})),
      audit_removed(AddCounter(registry, "lockstep_collector_audit_removed_total",
                               "Records of who asked for what that made room for newer ones.")),
      registry(registry) {}

OutcomeMetrics::OutcomeMetrics(prometheus::Registry& registry, const char* name, const char* help,
                               const std::map<std::string, std::string>& labels)
    : by_outcome(CounterFamily(registry, name, help)),
      succeeded(by_outcome.Add(With(labels, "outcome", "ok"))),
      failed(by_outcome.Add(With(labels, "outcome", "failed"))) {}

KeySetMetrics::KeySetMetrics(prometheus::Registry& registry, const std::string& issuer)
    : OutcomeMetrics(registry, "lockstep_collector_key_set_fetches_total",
                     "Times that the key set of an OpenID provider was asked for, by outcome: ok or failed.",
                     {{"issuer", issuer}}),
      last_success_seconds(GaugeFamily(registry, "lockstep_collector_key_set_last_success_time_seconds",
                                       "When the key set was last given, Unix time; 0 = never.")
                               .Add({{"issuer", issuer}})) {}

BackupMetrics::BackupMetrics(prometheus::Registry& registry)
    : OutcomeMetrics(registry, "lockstep_collector_backups_total",
                     "Backups of history that were begun, by outcome: ok or failed."),
      last_success_seconds(
          AddGauge(registry, "lockstep_collector_backup_last_success_time_seconds",
                   "End of the newest backup that this process took, Unix time; 0 = none since the start.")) {}

CollectorMetrics::CollectorMetrics(const std::string& version)
    : registry_(std::make_shared<Registry>()),
      reports_received(
          AddCounter(*registry_, "lockstep_collector_reports_received_total", "Reports read from agents.")),
      report_bytes_received(
          AddCounter(*registry_, "lockstep_collector_report_bytes_received_total", "Bytes of these reports.")),
      operations_received(AddCounter(*registry_, "lockstep_collector_operations_received_total",
                                     "Finished operations in accepted reports.")),
      samples_received(
          AddCounter(*registry_, "lockstep_collector_samples_received_total", "Metric samples in accepted reports.")),
      reports_duplicate(AddCounter(*registry_, "lockstep_collector_reports_duplicate_total",
                                   "Reports that had been accepted before and were skipped.")),
      reports_missing(AddCounter(*registry_, "lockstep_collector_reports_missing_total",
                                 "Sequence numbers that agents left out: reports that will never come.")),
      reads_withheld(AddCounter(*registry_, "lockstep_collector_reads_withheld_total",
                                "Times a stream was not read on because a queue was full.")),
      acks_sent(AddCounter(*registry_, "lockstep_collector_acks_sent_total", "Acknowledgements written to agents.")),
      agent_records_dropped(AddCounter(*registry_, "lockstep_agent_events_dropped_total",
                                       "Records that agents say they had to throw away.")),
      agents(*registry_),
      detection_seconds(AddHistogram(*registry_, "lockstep_collector_detection_duration_seconds",
                                     "Time to evaluate all jobs of one shard once.")),
      watermark_lag_seconds(AddGauge(*registry_, "lockstep_collector_watermark_lag_seconds",
                                     "Age of the newest watermark when its evaluation was done.")),
      incident_events(AddCounter(*registry_, "lockstep_collector_incident_events_total",
                                 "Incidents opened, updated, resolved or reopened.")),
      job_name_conflicts(AddCounter(*registry_, "lockstep_collector_job_name_conflicts_total",
                                    "Reports of ranks that are not watched: another process of that job and rank is.")),
      jobs(*registry_),
      pulls(*registry_),
      watches(*registry_),
      demands(*registry_),
      queries(*registry_),
      access(*registry_),
      store_write_seconds(
          AddHistogram(*registry_, "lockstep_collector_store_write_duration_seconds", "Time of one write to history.")),
      store_write_failures(
          AddCounter(*registry_, "lockstep_collector_store_write_failures_total", "Writes that history refused.")),
      store_entries_written(AddCounter(*registry_, "lockstep_collector_store_entries_written_total",
                                       "Entries of the input log that are in history.")),
      store_points_written(
          AddCounter(*registry_, "lockstep_collector_store_points_written_total", "Samples handed to history.")),
      store_healthy(
          AddGauge(*registry_, "lockstep_collector_store_healthy", "1 = history accepts writes, 0 = it does not.")),
      history(*registry_),
      alerts(*registry_),
      start_time_seconds(
          AddGauge(*registry_, "lockstep_collector_start_time_seconds", "Start of this process, Unix time.")),
      reloads(*registry_, "lockstep_collector_settings_reloads_total",
              "Times that the settings were read again, by outcome: ok or failed."),
      backups(*registry_),
      rejected_(CounterFamily(*registry_, "lockstep_collector_streams_rejected_total",
                              "Streams that were ended because of what the agent sent.")),
      dropped_(CounterFamily(*registry_, "lockstep_collector_dropped_total",
                             "What was left out without ending the stream, by reason.")),
      queue_depth_(GaugeFamily(*registry_, "lockstep_collector_queue_depth", "Items waiting in a queue.")),
      queue_capacity_(GaugeFamily(*registry_, "lockstep_collector_queue_capacity", "Items a queue can hold.")),
      incidents_(GaugeFamily(*registry_, "lockstep_incidents", "Incidents by state, class and scope.")) {
  GaugeFamily(*registry_, "lockstep_collector_build_info", "Version of this program; always 1.")
      .Add({{"version", version}})
      .Set(1);
  store_healthy.Set(1);
}

void CollectorMetrics::CountRejected(const std::string& reason) { rejected_.Add({{"reason", reason}}).Increment(); }

void CollectorMetrics::CountDropped(const std::string& reason, double count) {
  if (count > 0) dropped_.Add({{"reason", reason}}).Increment(count);
}

void CollectorMetrics::SetQueue(const std::string& queue, size_t depth, size_t capacity) {
  queue_depth_.Add({{"queue", queue}}).Set(static_cast<double>(depth));
  queue_capacity_.Add({{"queue", queue}}).Set(static_cast<double>(capacity));
}

void CollectorMetrics::SetIncidents(const std::map<IncidentLabels, int>& counts) {
  MutexLock lock(mutex_);
  for (auto series = incident_series_.begin(); series != incident_series_.end();) {
    if (counts.contains(series->first)) {
      ++series;
    } else {
      incidents_.Remove(series->second);
      series = incident_series_.erase(series);
    }
  }
  for (const auto& [labels, count] : counts) {
    Gauge*& gauge = incident_series_[labels];
    if (gauge == nullptr) {
      gauge = &incidents_.Add({{"state", labels.state}, {"class", labels.verdict_class}, {"scope", labels.scope}});
    }
    gauge->Set(count);
  }
}

std::vector<std::string> CollectorMetrics::FamilyNames() const {
  std::vector<std::string> names;
  for (const prometheus::MetricFamily& family : registry_->Collect()) names.push_back(family.name);
  return names;
}

}  // namespace lockstep
