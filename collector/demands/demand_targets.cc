#include "collector/demands/demand_targets.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "proto/query.pb.h"

namespace lockstep {

absl::StatusOr<DemandTargets> FindDemandTargets(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                                const std::string& job, absl::Span<const int32_t> ranks, size_t max) {
  const std::vector<wire::Rank>* known = nullptr;
  for (const auto& snapshot : snapshots) {
    const auto found = snapshot->ranks.find(job);
    if (found != snapshot->ranks.end()) known = found->second.get();
  }
  if (known == nullptr) return absl::NotFoundError(absl::StrCat("no job \"", job, "\""));
  std::set<int32_t> wanted(ranks.begin(), ranks.end());
  DemandTargets result;
  for (const wire::Rank& rank : *known) {
    if (wanted.erase(rank.rank()) == 0 && !ranks.empty()) continue;
    if (ranks.empty() && rank.process_state() == "gone") continue;
    if (result.targets.size() < max) {
      result.targets.push_back({rank.host(), rank.rank(), rank.pid()});
    } else {
      ++result.left_out;
    }
  }
  if (!wanted.empty()) return absl::NotFoundError(absl::StrCat("job ", job, " has no rank ", *wanted.begin()));
  return result;
}

}  // namespace lockstep
