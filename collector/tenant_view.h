// What a caller sees of the fleet: all of it, or the jobs of its tenant and the hosts that run them.
//
// Hosts are those on which ranks of such a job were seen lately. What belongs to other jobs is as if it did not exist.
// For one call; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_TENANT_VIEW_H_
#define LOCKSTEP_COLLECTOR_TENANT_VIEW_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "collector/access/caller.h"
#include "collector/job_table.h"

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
    const std::set<std::string> seen = Hosts();
    std::erase_if(rows, [&](const Row& row) { return !seen.contains(row.*host); });
    return rows;
  }

  // PERMISSION_DENIED if a tenant asks for a host that runs none of its jobs, or for all hosts.
  absl::Status CheckHost(const std::string& host) const {
    if (sees_all() || Hosts().contains(host)) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("tenant ", caller_.tenant, " sees the history of hosts that run its jobs, one at a time"));
  }

 private:
  std::set<std::string> Hosts() const {
    std::set<std::string> hosts;
    for (const std::shared_ptr<const JobsSnapshot>& snapshot : snapshots_()) {
      for (const auto& [job, ranks] : snapshot->ranks) {
        if (!SeesJob(job)) continue;
        for (const wire::Rank& rank : *ranks) hosts.insert(rank.host());
      }
    }
    return hosts;
  }

  const Caller& caller_;
  const Snapshots& snapshots_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TENANT_VIEW_H_
