#include "detector/network/inside_vote.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/shares.h"
#include "detector/network/joined_causes.h"
#include "detector/verdict/many_named.h"

namespace lockstep {
namespace {

// Of the paths that pass slow NVLink, this share must be slow.
constexpr double kHolds = kNearlyAll;
// Members of a group on one host between which its NVLink lies.
constexpr int64_t kInsideShare = 2;

using PathsOfHosts = std::map<int32_t, std::vector<int32_t>>;

class InsideVote {
 public:
  InsideVote(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of, std::vector<char>* explained)
      : paths_(paths), host_of_(host_of), explained_(*explained) {}

  std::vector<PathCause> Run() {
    std::vector<PathCause> causes;
    PathsOfHosts slow = SlowPaths();
    // What the NVLink of many hosts has in common is how it was set up.
    if (!IsFewOf(slow.size(), std::set<int32_t>(host_of_.begin(), host_of_.end()).size())) return causes;
    for (auto& [host, here] : slow) causes.push_back(OfHost(host, std::move(here)));
    return causes;
  }

 private:
  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }

  // By rank: whether the paths of its GPU that never leave its host are slow, as all must be that pass its NVLink.
  std::vector<char> SlowGpus() const {
    std::vector<size_t> slow(host_of_.size(), 0), all(host_of_.size(), 0);
    for (const VotePath& path : paths_) {
      if (CrossesHosts(path, host_of_)) continue;
      for (const int32_t rank : path.ranks) {
        ++all[static_cast<size_t>(rank)];
        slow[static_cast<size_t>(rank)] += path.slow ? 1 : 0;
      }
    }
    std::vector<char> slow_gpus;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const bool holds = static_cast<double>(slow[rank]) >= kHolds * static_cast<double>(all[rank]);
      slow_gpus.push_back(slow[rank] > 0 && holds ? 1 : 0);
    }
    return slow_gpus;
  }

  // That never leave their host, and pass its NVLink.
  PathsOfHosts SlowPaths() const {
    const std::vector<char> slow_gpus = SlowGpus();
    PathsOfHosts slow;
    for (size_t p = 0; p < paths_.size(); ++p) {
      const std::vector<int32_t>& ranks = paths_[p].ranks;
      const bool passes = std::any_of(ranks.begin(), ranks.end(),
                                      [&](int32_t rank) { return slow_gpus[static_cast<size_t>(rank)] != 0; });
      if (!paths_[p].slow || CrossesHosts(paths_[p], host_of_) || !passes) continue;
      slow[HostOf(ranks[0])].push_back(static_cast<int32_t>(p));
    }
    return slow;
  }

  // `here`: the slow paths that never leave it.
  PathCause OfHost(int32_t host, std::vector<int32_t> here) {
    std::map<int32_t, size_t> in;
    for (const int32_t p : here) {
      explained_[static_cast<size_t>(p)] = 1;
      for (const int32_t rank : paths_[static_cast<size_t>(p)].ranks) ++in[rank];
    }
    PathCause cause{.kind = PathCauseKind::kInside, .hosts = {host}};
    for (const auto& [rank, count] : in) {
      if (count == here.size()) cause.ranks.push_back(rank);
    }
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (paths_[p].slow && explained_[p] == 0 && PassesOnItsWay(paths_[p], host)) {
        here.push_back(static_cast<int32_t>(p));
        explained_[p] = 1;
      }
    }
    cause.predicted = static_cast<int32_t>(here.size());
    cause.paths = std::move(here);
    return cause;
  }

  bool PassesOnItsWay(const VotePath& path, int32_t host) const {
    if (path.point_to_point || !CrossesHosts(path, host_of_)) return false;
    return std::count_if(path.ranks.begin(), path.ranks.end(), [&](int32_t r) { return HostOf(r) == host; }) >=
           kInsideShare;
  }

  const std::vector<VotePath>& paths_;
  const std::vector<int32_t>& host_of_;
  std::vector<char>& explained_;
};

}  // namespace

std::vector<PathCause> VoteOnInside(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                                    std::vector<char>* explained) {
  return InsideVote(paths, host_of, explained).Run();
}

std::optional<PathCause> WithinHosts(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                                     const std::vector<char>& explained) {
  PathCause within{.kind = PathCauseKind::kWithin};
  for (size_t p = 0; p < paths.size(); ++p) {
    const VotePath& path = paths[p];
    const bool counts = path.slow && explained[p] == 0 && !path.exchange && !path.point_to_point;
    if (!counts || CrossesHosts(path, host_of)) continue;
    Join(&within, {.ranks = path.ranks, .paths = {static_cast<int32_t>(p)}, .predicted = 1});
  }
  if (within.paths.empty()) return std::nullopt;
  within.hosts = HostsOf(within.ranks, host_of);
  return within;
}

}  // namespace lockstep
