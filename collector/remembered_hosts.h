// Has history remember who reports, and which GPUs they have.
//
// What a store refuses is stored with the next call; StoreWriter tells of one that does. Thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_REMEMBERED_HOSTS_H_
#define LOCKSTEP_COLLECTOR_REMEMBERED_HOSTS_H_

#include <vector>

#include "absl/status/status.h"
#include "collector/expected_hosts.h"
#include "collector/gpu_directory.h"
#include "collector/ingest/agent_registry.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"

namespace lockstep {

// References are borrowed, by tasks of the worker as well.
struct RememberedHosts {
  HistoryStore& store;
  ExpectedHosts& hosts;
  GpuDirectory& gpus;

  // Takes in what an earlier life has stored. The error of the store.
  absl::Status Restore() const;

  // Stores what is new, on `worker`. To be called about once a second.
  void Renew(const std::vector<AgentView>& agents, QueryWorker& worker) const;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_REMEMBERED_HOSTS_H_
