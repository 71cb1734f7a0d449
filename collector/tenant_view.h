// What a caller sees of the fleet: all of it, or the jobs of its tenant and the hosts that run them.
//
// Hosts are those on which ranks of such a job were seen lately, each from when to when they were. What belongs to
// other jobs is as if it did not exist. For one call; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_TENANT_VIEW_H_
#define LOCKSTEP_COLLECTOR_TENANT_VIEW_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/access/caller.h"
#include "collector/job_table.h"
#include "collector/tenant_share.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

class TenantView {
 public:
  using Snapshots = std::function<std::vector<std::shared_ptr<const JobsSnapshot>>()>;

  // Both are borrowed.
  TenantView(const Caller& caller, const Snapshots& snapshots) : caller_(caller), snapshots_(snapshots) {}

  bool sees_all() const { return caller_.sees_all(); }
  bool SeesJob(absl::string_view job) const { return caller_.Sees(job); }

  // Those of `rows` whose host the caller sees.
  template <typename Row>
  std::vector<Row> HostsOf(std::vector<Row> rows, std::string Row::*host) const {
    if (sees_all()) return rows;
    const std::map<std::string, HostShare> seen = Shares();
    std::erase_if(rows, [&](const Row& row) { return !seen.contains(row.*host); });
    return rows;
  }

  // What of the history of `host` ("" = of all) the caller sees. NOT_FOUND for a tenant if the host runs none of its
  // jobs, whether or not it exists; PERMISSION_DENIED if a tenant asks for all hosts.
  absl::StatusOr<HostShare> ShareOf(const std::string& host) const;

  // By host, of a tenant; of who sees all it is empty.
  std::map<std::string, HostShare> Shares() const;

  // Takes from a GPU the ranks that the caller does not see; false if it does not see the GPU. `shares` are its own.
  bool Narrow(const std::map<std::string, HostShare>& shares, wire::Gpu& gpu) const {
    if (sees_all()) return true;
    auto& ranks = *gpu.mutable_ranks();
    ranks.erase(std::remove_if(ranks.begin(), ranks.end(), [&](const auto& rank) { return !SeesJob(rank.job()); }),
                ranks.end());
    const auto share = shares.find(gpu.host());
    return share != shares.end() && share->second.Has(gpu);
  }

  // Takes from a window of maintenance what the caller does not see; false if nothing of it is left.
  bool Narrow(wire::MaintenanceWindow& window) const {
    if (sees_all()) return true;
    const std::map<std::string, HostShare> seen = Shares();
    const auto keep = [](auto& names, const auto& is_seen) {
      names.erase(std::remove_if(names.begin(), names.end(), [&](const std::string& name) { return !is_seen(name); }),
                  names.end());
    };
    keep(*window.mutable_hosts(), [&](const std::string& host) { return seen.contains(host); });
    keep(*window.mutable_jobs(), [&](const std::string& job) { return SeesJob(job); });
    return window.hosts_size() + window.jobs_size() > 0;
  }

 private:
  const Caller& caller_;
  const Snapshots& snapshots_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TENANT_VIEW_H_
