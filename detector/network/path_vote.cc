#include "detector/network/path_vote.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"
#include "detector/network/inside_vote.h"
#include "detector/network/joined_causes.h"
#include "detector/network/network_part.h"
#include "detector/network/path_conclusion.h"
#include "detector/network/path_suspects.h"

namespace lockstep {
namespace {

// Of the paths that a suspect would slow down, this share must be slow.
constexpr double kHolds = kNearlyAll;
// Who explains as much as this of what another does, explains what it does: what is left may be chance.
constexpr double kExplainsAsMuch = kAllButFew;

struct Suspect {
  std::vector<int32_t> slow;  // paths, rising
  int32_t fine = 0;           // paths that would be slow for certain, and are not
};

class Vote {
 public:
  Vote(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of)
      : paths_(paths),
        host_of_(host_of),
        predictions_(host_of),
        conclusion_(paths, host_of, predictions_),
        explained_(paths.size(), 0) {}

  std::vector<PathCause> Run() {
    causes_ = VoteOnInside(paths_, host_of_, &explained_);
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (!CrossesHosts(paths_[p], host_of_) || explained_[p] != 0) continue;
      (paths_[p].slow ? slow_ : fine_).push_back(static_cast<int32_t>(p));
    }
    if (!slow_.empty()) VoteOutside();
    if (std::optional<PathCause> within = WithinHosts(paths_, host_of_, explained_)) {
      causes_.push_back(*std::move(within));
    }
    return std::move(causes_);
  }

 private:
  void VoteOutside() {
    CollectSuspects();
    SuspectPart();
    if (part_.empty() && IsEverywhere()) return TakeEverything();
    for (int round = 0; round < kMaxPathCauses && TakeBest(); ++round) {
    }
    JoinEqualOnes(&causes_);
    JoinManyOfOneKind(&causes_);
    JoinManyLinks([this](int32_t host) { return IsSlowThroughout(host); }, &causes_);
  }

  // Nearly all that passes the adapters of the host.
  bool IsSlowThroughout(int32_t host) const {
    const auto ranks = static_cast<int32_t>(std::count(host_of_.begin(), host_of_.end(), host));
    const auto found = suspects_.find(SuspectKey{SuspectKind::kBoth, host, ranks, 0});
    return found != suspects_.end() && Holds(found->second);
  }

  void CollectSuspects() {
    for (const int32_t p : slow_) {
      for (const Prediction& prediction : predictions_.Of(paths_[static_cast<size_t>(p)])) {
        suspects_[prediction.suspect].slow.push_back(p);
      }
    }
    for (const int32_t p : fine_) {
      for (const Prediction& prediction : predictions_.Of(paths_[static_cast<size_t>(p)])) {
        const auto found = suspects_.find(prediction.suspect);
        if (found != suspects_.end() && prediction.certain) ++found->second.fine;
      }
    }
    for (const auto& [key, suspect] : suspects_) {
      if (Holds(suspect)) keys_.push_back(key);
    }
    std::sort(keys_.begin(), keys_.end());
  }

  void SuspectPart() {
    NetworkPart part = FindNetworkPart(paths_, host_of_, slow_, fine_);
    if (part.hosts.empty()) return;
    part_ = std::move(part.hosts);
    suspects_[kPartKey].slow = std::move(part.slow_paths);
  }

  std::vector<int32_t> Remaining(const SuspectKey& key) const {
    std::vector<int32_t> remaining;
    const std::vector<int32_t>& slow = suspects_.at(key).slow;
    std::copy_if(slow.begin(), slow.end(), std::back_inserter(remaining),
                 [&](int32_t p) { return explained_[static_cast<size_t>(p)] == 0; });
    return remaining;
  }

  static bool Holds(const Suspect& suspect) {
    const auto slow = static_cast<double>(suspect.slow.size());
    return slow >= kHolds * (slow + suspect.fine);
  }

  // Of those that explain nearly as much as any, the one with fewest predictions that fail, then the one that explains
  // most, then the one that most slow paths bear out, whatever explains these; and all that explain the same as well.
  std::vector<SuspectKey> Best() const {
    std::vector<size_t> explains;
    size_t most = 0;
    for (const SuspectKey& key : keys_) {
      const std::vector<int32_t>& slow = suspects_.at(key).slow;
      explains.push_back(static_cast<size_t>(
          std::count_if(slow.begin(), slow.end(), [&](int32_t p) { return explained_[static_cast<size_t>(p)] == 0; })));
      most = std::max(most, explains.back());
    }
    std::vector<SuspectKey> best;
    std::tuple<int32_t, int64_t, int64_t> least;
    for (size_t i = 0; i < keys_.size(); ++i) {
      const Suspect& suspect = suspects_.at(keys_[i]);
      if (explains[i] == 0 || static_cast<double>(explains[i]) < kExplainsAsMuch * static_cast<double>(most)) continue;
      const std::tuple<int32_t, int64_t, int64_t> rank(suspect.fine, -static_cast<int64_t>(explains[i]),
                                                       -static_cast<int64_t>(suspect.slow.size()));
      if (best.empty() || rank < least) best.clear();
      if (best.empty()) least = rank;
      if (rank == least) best.push_back(keys_[i]);
    }
    if (best.empty()) return best;
    const std::vector<int32_t> explained = Remaining(best.front());
    std::erase_if(best, [&](const SuspectKey& key) { return Remaining(key) != explained; });
    return best;
  }

  // Whether the part of the network explains what no single simpler cause does.
  bool NeedsPart() const {
    const auto found = suspects_.find(kPartKey);
    if (found == suspects_.end()) return false;
    const std::vector<int32_t> by_part = Remaining(kPartKey);
    if (by_part.empty()) return false;
    const std::vector<SuspectKey> best = Best();
    const std::vector<int32_t> by_best = best.empty() ? std::vector<int32_t>() : Remaining(best.front());
    const auto left = std::count_if(by_part.begin(), by_part.end(),
                                    [&](int32_t p) { return !std::binary_search(by_best.begin(), by_best.end(), p); });
    return static_cast<double>(left) > (1 - kExplainsAsMuch) * static_cast<double>(by_part.size());
  }

  // Nearly all that leaves a host is slow, and no host takes part in nearly all of that.
  bool IsEverywhere() const {
    const auto slow = static_cast<double>(slow_.size());
    if (slow < kHolds * (slow + static_cast<double>(fine_.size()))) return false;
    std::map<int32_t, size_t> at;
    for (const int32_t p : slow_) {
      for (const int32_t host : HostsOf(paths_[static_cast<size_t>(p)].ranks, host_of_)) ++at[host];
    }
    return std::all_of(at.begin(), at.end(),
                       [slow](const auto& host) { return static_cast<double>(host.second) < kHolds * slow; });
  }

  // What all hosts have in common.
  void TakeEverything() {
    PathCause cause = conclusion_.OfRail(slow_);
    cause.kind = PathCauseKind::kFabric;
    cause.ranks.clear();
    cause.paths = slow_;
    cause.predicted = static_cast<int32_t>(slow_.size() + fine_.size());
    for (const int32_t p : slow_) explained_[static_cast<size_t>(p)] = 1;
    causes_.push_back(std::move(cause));
  }

  bool TakeBest() {
    if (NeedsPart()) {
      PathCause cause{.kind = PathCauseKind::kFabric, .hosts = part_};
      Take(std::move(cause), kPartKey);
      return true;
    }
    const std::vector<SuspectKey> best = Best();
    if (best.empty()) return TakeWholePath();
    Take(conclusion_.Of(best, Remaining(best.front())), best.front());
    return true;
  }

  void Take(PathCause cause, const SuspectKey& key) {
    cause.paths = Remaining(key);
    const Suspect& suspect = suspects_.at(key);
    cause.predicted = static_cast<int32_t>(suspect.slow.size()) + suspect.fine;
    for (const int32_t p : cause.paths) explained_[static_cast<size_t>(p)] = 1;
    causes_.push_back(std::move(cause));
  }

  // No suspect holds: the evidence ends at the path.
  bool TakeWholePath() {
    const auto left =
        std::find_if(slow_.begin(), slow_.end(), [&](int32_t p) { return explained_[static_cast<size_t>(p)] == 0; });
    if (left == slow_.end()) return false;
    explained_[static_cast<size_t>(*left)] = 1;
    PathCause cause = conclusion_.OfPath(*left);
    cause.paths = {*left};
    cause.predicted = 1;
    causes_.push_back(std::move(cause));
    return true;
  }

  static constexpr SuspectKey kPartKey{SuspectKind::kPart, -1, -1, -1};

  const std::vector<VotePath>& paths_;
  const std::vector<int32_t>& host_of_;
  const PathSuspects predictions_;
  const PathConclusion conclusion_;
  std::vector<int32_t> slow_;  // crossing paths
  std::vector<int32_t> fine_;
  absl::flat_hash_map<SuspectKey, Suspect> suspects_;
  std::vector<SuspectKey> keys_;  // of those that hold, rising; without the part
  std::vector<int32_t> part_;     // of the network: its hosts
  std::vector<char> explained_;
  std::vector<PathCause> causes_;
};

}  // namespace

std::vector<PathCause> VoteOnPaths(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of) {
  if (paths.empty() || host_of.empty()) return {};
  return Vote(paths, host_of).Run();
}

}  // namespace lockstep
