#include "agent/metrics.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "agent/kineto/fabric_refusal.h"
#include "agent/sources/rings/ring_place.h"
#include "agent/sources/rings/ring_reader.h"
#include "base/clock.h"
#include "daemon/version.h"

namespace lockstep {
namespace {

// By wire::SourceStatus::Outcome.
constexpr const char* kOutcomes[] = {"unspecified", "ok", "no_data", "failed", "timed_out"};

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / static_cast<double>(kNanosPerSecond); }

// Brings a counter to a total that is counted elsewhere.
void RaiseTo(prometheus::Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

void RaiseTo(prometheus::Counter& counter, uint64_t total) { RaiseTo(counter, static_cast<double>(total)); }

}  // namespace

AgentMetrics::Counters& AgentMetrics::Counter(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}

AgentMetrics::Gauges& AgentMetrics::Gauge(const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
}

AgentMetrics::AgentMetrics()
    : ticks_(Counter("lockstep_agent_ticks_total", "Ticks.")),
      tick_seconds_(Counter("lockstep_agent_tick_seconds_total", "Time spent in ticks.")),
      reports_sent_(Counter("lockstep_agent_reports_sent_total", "Reports written to a stream, repeats included.")),
      reports_acknowledged_(Counter("lockstep_agent_reports_acked_total", "Reports that a collector has stored.")),
      reports_dropped_(Counter("lockstep_agent_reports_dropped_total", "Reports given up, by reason.")),
      connections_(Counter("lockstep_agent_connections_total", "Streams that a collector has answered.")),
      disconnections_(Counter("lockstep_agent_disconnections_total", "Streams that ended or never came up.")),
      commands_dropped_(
          Counter("lockstep_agent_commands_dropped_total", "Commands of the collector beyond what the agent queues.")),
      demands_(Counter("lockstep_agent_demands_total",
                       "Looks at processes that a collector has demanded, by what came of them.")),
      connected_(Gauge("lockstep_agent_connected", "1 while a stream is up.")),
      outbox_bytes_(Gauge("lockstep_agent_outbox_bytes", "Bytes of reports that are not acknowledged.")),
      outbox_reports_(Gauge("lockstep_agent_outbox_reports", "Reports that are not acknowledged.")),
      outbox_former_reports_(Gauge("lockstep_agent_outbox_former_reports",
                                   "Of the reports in the outbox, those of agents before this one.")),
      spool_bytes_(Gauge("lockstep_agent_spool_bytes", "Bytes of the spool on disk.")),
      spool_reports_(Gauge("lockstep_agent_spool_reports", "Reports in the spool that are not acknowledged.")),
      spool_segments_(Gauge("lockstep_agent_spool_segments", "Files of the spool.")),
      spool_oldest_age_seconds_(
          Gauge("lockstep_agent_spool_oldest_age_seconds", "Age of the oldest report that is not acknowledged.")),
      spool_failing_(
          Gauge("lockstep_agent_spool_failing",
                "1 while there is to be a spool and reports do not get there: errors, or a disk that hangs.")),
      spool_corrupt_(Counter("lockstep_agent_spool_corrupt_total", "Damaged places found in the spool.")),
      spool_skipped_(
          Counter("lockstep_agent_spool_skipped_total", "Reports that are in memory and not on disk, by reason.")),
      spool_errors_(Counter("lockstep_agent_spool_errors_total", "Errors of the spool, by operation.")),
      spool_syncs_(Counter("lockstep_agent_spool_syncs_total", "Times that the spool was brought to the disk.")),
      spool_sync_seconds_(Counter("lockstep_agent_spool_sync_seconds_total", "Time that this took.")),
      ring_directory_wrong_(Gauge("lockstep_agent_ring_directory_wrong",
                                  "What is wrong with the ring directory and could not be mended: 1 = this.")),
      ring_directory_mended_(Counter("lockstep_agent_ring_directory_mended_total",
                                     "How often the ring directory was made or mended, by what was wrong.")),
      rings_followed_(Gauge("lockstep_agent_rings_followed", "Recorder rings followed.")),
      rings_without_job_(Gauge("lockstep_agent_rings_without_job",
                               "Recorder rings whose job has no name yet, and which are not reported.")),
      rings_refused_(Counter("lockstep_agent_rings_refused_total", "Ring files refused, by reason.")),
      rings_waiting_(Gauge("lockstep_agent_ring_files_waiting",
                           "Ring files not yet looked at, beyond what a tick looks at or the agent remembers.")),
      ring_records_left_out_(Counter("lockstep_agent_ring_records_left_out_total",
                                     "What else rings hold beyond their share of a report, by kind.")),
      operations_read_(Counter("lockstep_agent_operations_read_total", "Operations read from rings and reported.")),
      operations_lost_(Counter("lockstep_agent_operations_lost_total", "Operations not reported, by reason.")),
      kineto_listening_(Gauge("lockstep_agent_kineto_listening", "1 while processes of PyTorch can register here.")),
      kineto_name_taken_(Gauge("lockstep_agent_kineto_name_taken", "1 while another daemon has the name for that.")),
      kineto_processes_(Gauge("lockstep_agent_kineto_processes", "Processes of PyTorch that are registered.")),
      kineto_datagrams_(
          Counter("lockstep_agent_kineto_datagrams_total",
                  "What processes sent to register, by what came of it: registered, polled, or why not.")),
      kineto_orders_(Counter("lockstep_agent_kineto_orders_total", "Processes that were told to take a profile.")),
      kineto_answers_dropped_(
          Counter("lockstep_agent_kineto_answers_dropped_total", "Answers that such a process did not take.")),
      source_runs_(Counter("lockstep_agent_source_runs_total", "Runs of each source, by outcome.")),
      source_seconds_(Counter("lockstep_agent_source_seconds_total", "Time spent in each source.")),
      source_last_seconds_(Gauge("lockstep_agent_source_last_duration_seconds", "Duration of the last run.")),
      source_failing_seconds_(Gauge("lockstep_agent_source_failing_seconds",
                                    "Since when each source fails or is overdue; 0 = it does not.")),
      cpu_seconds_(Counter("lockstep_agent_cpu_seconds_total", "CPU time of the agent.")),
      cpu_core_fraction_(Gauge("lockstep_agent_cpu_core_fraction", "CPU time over wall time since the last check.")),
      resident_bytes_(Gauge("lockstep_agent_resident_bytes", "Resident memory of the agent.")),
      limit_exceeded_(Counter("lockstep_agent_limit_exceeded_total", "Checks that found the agent over its budget.")),
      settings_reloads_(Counter("lockstep_agent_settings_reloads_total",
                                "Times that the settings were read again, by outcome: ok or failed.")),
      build_info_(Gauge("lockstep_agent_build_info", "1; the version is a label.")) {
  build_info_.Add({{"version", kVersion}}).Set(1);
  for (const char* resource : {"cpu", "memory"}) limit_exceeded_.Add({{"resource", resource}});
  for (const char* outcome : {"ok", "failed"}) settings_reloads_.Add({{"outcome", outcome}});
}

void AgentMetrics::CountReload(bool ok) { settings_reloads_.Add({{"outcome", ok ? "ok" : "failed"}}).Increment(); }

void AgentMetrics::UpdateUplink(const UplinkStatistics& statistics) {
  RaiseTo(reports_sent_.Add({}), statistics.reports_sent);
  RaiseTo(reports_acknowledged_.Add({}), statistics.reports_acknowledged);
  for (const auto& [reason, count] : statistics.reports_dropped) {
    RaiseTo(reports_dropped_.Add({{"reason", reason}}), count);
  }
  RaiseTo(connections_.Add({}), statistics.connections);
  RaiseTo(disconnections_.Add({}), statistics.disconnections);
  RaiseTo(commands_dropped_.Add({}), statistics.commands_dropped);
  connected_.Add({}).Set(statistics.connected ? 1 : 0);
  outbox_bytes_.Add({}).Set(static_cast<double>(statistics.outbox_bytes));
  outbox_reports_.Add({}).Set(static_cast<double>(statistics.outbox_reports));
  outbox_former_reports_.Add({}).Set(static_cast<double>(statistics.former_reports));
  if (statistics.spool.has_value()) UpdateSpool(*statistics.spool);
}

void AgentMetrics::UpdateDemands(const DemandStatistics& statistics) {
  RaiseTo(demands_.Add({{"outcome", "done"}}), statistics.done);
  RaiseTo(demands_.Add({{"outcome", "refused"}}), statistics.refused);
  RaiseTo(demands_.Add({{"outcome", "failed"}}), statistics.failed);
}

void AgentMetrics::UpdateSpool(const SpoolStatistics& statistics) {
  spool_failing_.Add({}).Set(statistics.failing ? 1 : 0);
  spool_bytes_.Add({}).Set(static_cast<double>(statistics.log.bytes));
  spool_reports_.Add({}).Set(static_cast<double>(statistics.log.reports));
  spool_segments_.Add({}).Set(static_cast<double>(statistics.log.segments));
  spool_oldest_age_seconds_.Add({}).Set(Seconds(statistics.log.oldest_age_ns));
  RaiseTo(spool_corrupt_.Add({}), statistics.log.corrupt_places);
  for (const auto& [reason, count] : statistics.skipped) RaiseTo(spool_skipped_.Add({{"reason", reason}}), count);
  for (const auto& [operation, count] : statistics.errors) {
    RaiseTo(spool_errors_.Add({{"operation", operation}}), count);
  }
  RaiseTo(spool_syncs_.Add({}), statistics.syncs);
  RaiseTo(spool_sync_seconds_.Add({}), Seconds(statistics.sync_ns));
}

void AgentMetrics::UpdateRings(const RingsSource& rings) {
  for (size_t fault = static_cast<size_t>(RingPlaceFault::kMissing); fault < kRingPlaceFaultNames.size(); ++fault) {
    const std::string name = kRingPlaceFaultNames[fault];
    const bool is_this = rings.place().fault() == static_cast<RingPlaceFault>(fault);
    ring_directory_wrong_.Add({{"fault", name}}).Set(is_this ? 1 : 0);
    RaiseTo(ring_directory_mended_.Add({{"fault", name}}), rings.place().mended()[fault]);
  }
  rings_followed_.Add({}).Set(static_cast<double>(rings.directory().rings().size()));
  rings_without_job_.Add({}).Set(static_cast<double>(rings.directory().without_job()));
  rings_waiting_.Add({}).Set(static_cast<double>(rings.directory().waiting()));
  // From the first reason that is one.
  for (int reason = static_cast<int>(RingRefusalReason::kInitializing); reason < kRingRefusalReasons; ++reason) {
    const std::string name(RingRefusalName(static_cast<RingRefusalReason>(reason)));
    RaiseTo(rings_refused_.Add({{"reason", name}}), rings.directory().refused()[reason]);
  }
  const RingTally& total = rings.total();
  RaiseTo(operations_read_.Add({}), total.reported);
  const std::pair<const char*, uint64_t> losses[] = {
      {"overwritten", total.overwritten},       {"over_budget", total.over_budget},
      {"over_allowance", total.over_allowance}, {"malformed", total.malformed},
      {"without_job", total.without_job},       {"unknown_communicator", total.unknown_communicator}};
  for (const auto& [reason, count] : losses) RaiseTo(operations_lost_.Add({{"reason", reason}}), count);
  const std::pair<const char*, uint64_t> left_out[] = {{"communicators", total.communicators_left_out},
                                                       {"transfers", total.transfers_left_out},
                                                       {"in_flight", total.in_flight_left_out}};
  for (const auto& [what, count] : left_out) RaiseTo(ring_records_left_out_.Add({{"what", what}}), count);
}

void AgentMetrics::UpdateFabric(const FabricStatistics& statistics) {
  kineto_listening_.Add({}).Set(statistics.listening ? 1 : 0);
  kineto_name_taken_.Add({}).Set(statistics.name_taken ? 1 : 0);
  kineto_processes_.Add({}).Set(static_cast<double>(statistics.processes));
  RaiseTo(kineto_datagrams_.Add({{"outcome", "registered"}}), statistics.registrations);
  RaiseTo(kineto_datagrams_.Add({{"outcome", "polled"}}), statistics.polls);
  RaiseTo(kineto_orders_.Add({}), statistics.orders);
  for (size_t refusal = 1; refusal < kFabricRefusals; ++refusal) {
    RaiseTo(kineto_datagrams_.Add({{"outcome", kFabricRefusalNames[refusal]}}), statistics.refused[refusal]);
  }
  RaiseTo(kineto_answers_dropped_.Add({}), statistics.answers_dropped);
}

void AgentMetrics::UpdateUsage(const OwnUsage& usage, double core_fraction) {
  RaiseTo(cpu_seconds_.Add({}), Seconds(usage.cpu_ns));
  cpu_core_fraction_.Add({}).Set(core_fraction);
  resident_bytes_.Add({}).Set(static_cast<double>(usage.resident_bytes));
}

void AgentMetrics::UpdateSources(const wire::AgentReport& report) {
  for (const wire::SourceStatus& source : report.sources()) {
    const auto index = static_cast<size_t>(source.outcome());
    const char* outcome = kOutcomes[index < std::size(kOutcomes) ? index : 0];
    source_runs_.Add({{"source", source.name()}, {"outcome", outcome}}).Increment();
    source_seconds_.Add({{"source", source.name()}}).Increment(Seconds(source.duration_ns()));
    source_last_seconds_.Add({{"source", source.name()}}).Set(Seconds(source.duration_ns()));
    source_failing_seconds_.Add({{"source", source.name()}}).Set(Seconds(source.failing_ns()));
  }
}

void AgentMetrics::CountTick(int64_t duration_ns) {
  ticks_.Add({}).Increment();
  tick_seconds_.Add({}).Increment(Seconds(duration_ns));
}

void AgentMetrics::CountLimitExceeded(const std::string& resource) {
  limit_exceeded_.Add({{"resource", resource}}).Increment();
}

}  // namespace lockstep
