#include "collector/remembered_hosts.h"

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "proto/query.pb.h"

namespace lockstep {

absl::Status RememberedHosts::Restore() const {
  ASSIGN_OR_RETURN(const std::vector<SeenHost> seen, store.LoadHosts());
  ASSIGN_OR_RETURN(const std::vector<wire::HostGpus> known, store.LoadGpus());
  hosts.Restore(seen);
  gpus.Restore(known);
  return absl::OkStatus();
}

void RememberedHosts::Renew(const std::vector<AgentView>& agents, QueryWorker& worker) const {
  const std::vector<SeenHost> seen = hosts.Note(agents);
  const std::vector<wire::HostGpus> changed = gpus.TakeChanged();
  const auto store_seen = [parts = *this, seen] {
    if (!parts.store.PutHosts(seen).ok()) parts.hosts.NotStored(seen);
  };
  const auto store_changed = [parts = *this, changed] {
    if (!parts.store.PutGpus(changed).ok()) parts.gpus.NotStored(changed);
  };
  if (!seen.empty() && !worker.TryRun(store_seen)) hosts.NotStored(seen);
  if (!changed.empty() && !worker.TryRun(store_changed)) gpus.NotStored(changed);
}

}  // namespace lockstep
