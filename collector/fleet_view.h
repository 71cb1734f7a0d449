// What queries may see: pieces of the collector behind one narrow interface, so that the query service can be tested
// alone. References are borrowed; Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_FLEET_VIEW_H_
#define LOCKSTEP_COLLECTOR_FLEET_VIEW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/access/access_control.h"
#include "collector/expected_hosts.h"
#include "collector/failing_sources.h"
#include "collector/gpu_directory.h"
#include "collector/incident_index.h"
#include "collector/ingest/agent_registry.h"
#include "collector/job_table.h"
#include "collector/maintenance_book.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"

namespace lockstep {

struct FleetView {
  std::string version;
  int64_t started_wall_ns = 0;
  const Clock& os_clock;
  const Clock& clock;  // the collector's time line
  const AgentRegistry& agents;
  const FailingSources& sources;
  const GpuDirectory& gpus;
  const ExpectedHosts& hosts;
  const IncidentIndex& incidents;
  const MaintenanceBook& maintenance;
  HistoryStore& history;
  QueryWorker& worker;
  QueryMetrics& metrics;
  AccessControl& access;
  std::function<std::vector<std::shared_ptr<const JobsSnapshot>>()> snapshots;  // one per shard
  std::function<uint64_t()> reports_stored;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_FLEET_VIEW_H_
