#include "collector/tenant_view.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

std::map<std::string, HostShare> TenantView::Shares() const {
  std::map<std::string, HostShare> shares;
  if (sees_all()) return shares;
  for (const std::shared_ptr<const JobsSnapshot>& snapshot : snapshots_()) {
    for (const auto& [job, hosts] : snapshot->hosts) {
      if (!SeesJob(job)) continue;
      for (const auto& [host, span] : *hosts) {
        shares.try_emplace(host, HostShare{.span = span}).first->second.span.Include(span);
      }
      for (const wire::Rank& rank : *snapshot->ranks.at(job)) {
        const auto share = shares.find(rank.host());
        if (share != shares.end() && rank.gpu() >= 0) share->second.gpus.insert(rank.gpu());
      }
    }
  }
  return shares;
}

absl::StatusOr<HostShare> TenantView::ShareOf(const std::string& host) const {
  if (sees_all()) return HostShare{.whole = true};
  if (host.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("tenant ", caller_.tenant, " sees the history of hosts that run its jobs, one at a time"));
  }
  const std::map<std::string, HostShare> shares = Shares();
  const auto share = shares.find(host);
  if (share != shares.end()) return share->second;
  return absl::NotFoundError(absl::StrCat("no host \"", host, "\" runs a job of tenant ", caller_.tenant));
}

}  // namespace lockstep
