// Every Prometheus metric of the agent, registered here and nowhere else (prometheus-cpp throws on a bad name: once, at
// start-up, under test).

#ifndef LOCKSTEP_AGENT_METRICS_H_
#define LOCKSTEP_AGENT_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>

#include "agent/demands/demand_runner.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/own_usage.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/spool/spool.h"
#include "agent/uplink/uplink.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Owns the registry. Updates are made by the thread of the tick; scrapes may come from any thread. Thread-safe to that
// extent. Label values come from fixed tables of the program, so that their number is bounded.
class AgentMetrics {
 public:
  AgentMetrics();

  void UpdateUplink(const UplinkStatistics& statistics);
  void UpdateSpool(const SpoolStatistics& statistics);
  void UpdateRings(const RingsSource& rings);
  void UpdateDemands(const DemandStatistics& statistics);
  void UpdateFabric(const FabricStatistics& statistics);
  void UpdateUsage(const OwnUsage& usage, double core_fraction);
  // The outcomes and durations in `report`.
  void UpdateSources(const wire::AgentReport& report);
  void CountTick(int64_t duration_ns);
  void CountLimitExceeded(const std::string& resource);
  void CountReload(bool ok);

  const prometheus::Registry& registry() const { return registry_; }

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;

  Counters& Counter(const char* name, const char* help);
  Gauges& Gauge(const char* name, const char* help);

  prometheus::Registry registry_;
  Counters& ticks_;
  Counters& tick_seconds_;
  Counters& reports_sent_;
  Counters& reports_acknowledged_;
  Counters& reports_dropped_;
  Counters& connections_;
  Counters& disconnections_;
  Counters& commands_dropped_;
  Counters& demands_;
  Gauges& connected_;
  Gauges& outbox_bytes_;
  Gauges& outbox_reports_;
  Gauges& outbox_former_reports_;
  Gauges& spool_bytes_;
  Gauges& spool_reports_;
  Gauges& spool_segments_;
  Gauges& spool_oldest_age_seconds_;
  Gauges& spool_failing_;
  Counters& spool_corrupt_;
  Counters& spool_skipped_;
  Counters& spool_errors_;
  Counters& spool_syncs_;
  Counters& spool_sync_seconds_;
  Gauges& ring_directory_wrong_;
  Counters& ring_directory_mended_;
  Gauges& rings_followed_;
  Gauges& rings_without_job_;
  Counters& rings_refused_;
  Gauges& rings_waiting_;
  Counters& ring_records_left_out_;
  Counters& operations_read_;
  Counters& operations_lost_;
  Gauges& kineto_listening_;
  Gauges& kineto_name_taken_;
  Gauges& kineto_processes_;
  Counters& kineto_datagrams_;
  Counters& kineto_orders_;
  Counters& kineto_answers_dropped_;
  Counters& source_runs_;
  Counters& source_seconds_;
  Gauges& source_last_seconds_;
  Gauges& source_failing_seconds_;
  Counters& cpu_seconds_;
  Gauges& cpu_core_fraction_;
  Gauges& resident_bytes_;
  Counters& limit_exceeded_;
  Counters& settings_reloads_;
  Gauges& build_info_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_METRICS_H_
