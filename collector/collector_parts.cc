// What the parts of a collector are given of each other.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/collector.h"
#include "daemon/version.h"

namespace lockstep {

FleetView Collector::MakeView() {
  return FleetView{
      kVersion,
      started_wall_ns_,
      dependencies_.os_clock,
      dependencies_.clock,
      agents_,
      sources_,
      gpus_,
      hosts_,
      incidents_,
      maintenance_,
      dependencies_.store,
      worker_,
      dependencies_.metrics.queries,
      *door_.access,
      [this] { return Snapshots(); },
      [this] { return writer_.reports_stored(); },
  };
}

std::vector<std::shared_ptr<const JobsSnapshot>> Collector::Snapshots() const {
  std::vector<std::shared_ptr<const JobsSnapshot>> snapshots;
  for (const auto& shard : shards_) snapshots.push_back(shard->snapshot());
  return snapshots;
}

HangStacks::Parts Collector::MakeHangStacksParts() {
  return HangStacks::Parts{
      .next = hook_,
      .demands = demands_,
      .history = dependencies_.store,
      .worker = worker_,
      .metrics = dependencies_.metrics,
      .clock = dependencies_.clock,
      .snapshots = [this] { return Snapshots(); },
      .enabled = options_.stacks_on_hang,
  };
}

SelfProfiles::Parts Collector::MakeSelfProfilesParts() {
  return SelfProfiles::Parts{
      .demands = demands_,
      .audit = audit_,
      .history = dependencies_.store,
      .incidents = incidents_,
      .worker = worker_,
      .metrics = dependencies_.metrics,
      .os_clock = dependencies_.os_clock,
      .clock = dependencies_.clock,
      .snapshots = [this] { return Snapshots(); },
      .offers = [this](const std::string& host) { return agents_.Offers(host, "profile"); },
      .run_on_shard = [this](const auto& job, auto task) { return RunOnShard(job, std::move(task)); },
      .enabled = options_.profile_slow_jobs,
  };
}

AdminService::Parts Collector::MakeAdminParts() {
  return AdminService::Parts{
      .access = *door_.access,
      .audit = audit_,
      .agents = agents_,
      .hosts = hosts_,
      .gpus = gpus_,
      .history = dependencies_.store,
      .worker = worker_,
      .backups = backups_,
      .incidents = incidents_,
      .outbox = outbox_,
      .maintenance = maintenance_,
      .demands = demands_,
      .metrics = dependencies_.metrics,
      .clock = dependencies_.clock,
      .run_on_shard = [this](const auto& job, auto task) { return RunOnShard(job, std::move(task)); },
      .snapshots = [this] { return Snapshots(); },
  };
}

}  // namespace lockstep
