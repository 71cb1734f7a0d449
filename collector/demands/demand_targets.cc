#include "collector/demands/demand_targets.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// At most `most` of `ranks`, evenly spread.
void AppendSpread(absl::Span<const wire::Rank* const> ranks, size_t most, std::vector<DemandTarget>& targets) {
  const size_t taken = std::min(most, ranks.size());
  for (size_t i = 0; i < taken; ++i) {
    targets.push_back(TargetOf(*ranks[i * ranks.size() / taken]));
  }
}

absl::Status NoSuchJob(const std::string& job) { return absl::NotFoundError(absl::StrCat("no job \"", job, "\"")); }

}  // namespace

DemandTarget TargetOf(const wire::Rank& rank) { return {rank.host(), rank.rank(), rank.pid(), rank.duty() - 1}; }

const std::vector<wire::Rank>* RanksOf(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                       const std::string& job) {
  for (const auto& snapshot : snapshots) {
    const auto found = snapshot->ranks.find(job);
    if (found != snapshot->ranks.end()) return found->second.get();
  }
  return nullptr;
}

absl::StatusOr<DemandTargets> FindDemandTargets(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                                const std::string& job, absl::Span<const int32_t> ranks, size_t max) {
  const std::vector<wire::Rank>* const known = RanksOf(snapshots, job);
  if (known == nullptr) return NoSuchJob(job);
  std::set<int32_t> wanted(ranks.begin(), ranks.end());
  DemandTargets result;
  for (const wire::Rank& rank : *known) {
    if (wanted.erase(rank.rank()) == 0 && !ranks.empty()) continue;
    if (ranks.empty() && rank.process_state() == "gone") continue;
    if (result.targets.size() < max) {
      result.targets.push_back(TargetOf(rank));
    } else {
      ++result.left_out;
    }
  }
  if (!wanted.empty()) return absl::NotFoundError(absl::StrCat("job ", job, " has no rank ", *wanted.begin()));
  return result;
}

absl::StatusOr<DemandTargets> FindCompared(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                           const std::string& job, absl::Span<const int32_t> ranks, size_t peers,
                                           size_t max) {
  const std::vector<wire::Rank>* const known = RanksOf(snapshots, job);
  if (known == nullptr) return NoSuchJob(job);
  DemandTargets result;
  if (!ranks.empty()) {
    ASSIGN_OR_RETURN(result, FindDemandTargets(snapshots, job, ranks, max));
  }
  const std::set<int32_t> named(ranks.begin(), ranks.end());
  std::set<int32_t> local_ranks;
  std::set<int32_t> duties;
  for (const wire::Rank& rank : *known) {
    if (named.count(rank.rank()) == 0) continue;
    local_ranks.insert(rank.local_rank());
    if (rank.duty() > 0) duties.insert(rank.duty());
  }
  std::vector<const wire::Rank*> others;
  for (const wire::Rank& rank : *known) {
    if (named.count(rank.rank()) == 0 && rank.process_state() != "gone") others.push_back(&rank);
  }
  const auto shares_duty = [&](const wire::Rank* rank) { return duties.count(rank->duty()) > 0; };
  if (std::any_of(others.begin(), others.end(), shares_duty)) {
    std::erase_if(others, [&](const wire::Rank* rank) { return !shares_duty(rank); });
  }
  const auto alike = std::stable_partition(
      others.begin(), others.end(), [&](const wire::Rank* rank) { return local_ranks.count(rank->local_rank()) > 0; });
  const auto count = static_cast<size_t>(std::distance(others.begin(), alike));
  const size_t room = std::min(peers, max - std::min(max, result.targets.size()));
  AppendSpread(absl::MakeConstSpan(others).first(count), room, result.targets);
  AppendSpread(absl::MakeConstSpan(others).subspan(count), room - std::min(room, count), result.targets);
  return result;
}

}  // namespace lockstep
