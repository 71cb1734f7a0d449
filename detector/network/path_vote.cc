#include "detector/network/path_vote.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"
#include "detector/network/joined_causes.h"
#include "detector/network/network_part.h"
#include "detector/network/path_suspects.h"
#include "detector/verdict/many_named.h"

namespace lockstep {
namespace {

// Of the paths that a suspect would slow down, this share must be slow.
constexpr double kHolds = kNearlyAll;
// Who explains as much as this of what another does, explains what it does: what is left may be chance.
constexpr double kExplainsAsMuch = kAllButFew;
// Members of a group on one host between which its NVLink lies.
constexpr size_t kInsideShare = 2;

struct Suspect {
  std::vector<int32_t> slow;  // paths, rising
  int32_t fine = 0;           // paths that would be slow for certain, and are not
};

class Vote {
 public:
  Vote(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of)
      : paths_(paths), host_of_(host_of), predictions_(host_of), explained_(paths.size(), 0) {}

  std::vector<PathCause> Run() {
    VoteInside();
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (!Crosses(paths_[p]) || explained_[p] != 0) continue;
      (paths_[p].slow ? slow_ : fine_).push_back(static_cast<int32_t>(p));
    }
    if (!slow_.empty()) VoteOutside();
    AddWithin();
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

  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }

  bool Crosses(const VotePath& path) const {
    return std::any_of(path.ranks.begin(), path.ranks.end(),
                       [&](int32_t r) { return HostOf(r) != HostOf(path.ranks[0]); });
  }

  std::vector<int32_t> HostsOf(const std::vector<int32_t>& ranks) const {
    std::vector<int32_t> hosts;
    for (const int32_t rank : ranks) hosts.push_back(HostOf(rank));
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    return hosts;
  }

  // By rank: whether the paths of its GPU that never leave its host are slow, as all must be that pass its NVLink.
  std::vector<char> SlowInside() const {
    std::vector<Suspect> inside(host_of_.size());
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (Crosses(paths_[p])) continue;
      for (const int32_t rank : paths_[p].ranks) {
        Suspect& gpu = inside[static_cast<size_t>(rank)];
        if (paths_[p].slow) gpu.slow.push_back(static_cast<int32_t>(p));
        gpu.fine += paths_[p].slow ? 0 : 1;
      }
    }
    std::vector<char> slow;
    for (const Suspect& gpu : inside) slow.push_back(!gpu.slow.empty() && Holds(gpu) ? 1 : 0);
    return slow;
  }

  // Slow paths that never leave their host; and those that do, and pass between several GPUs of it on their way.
  void VoteInside() {
    const std::vector<char> slow_inside = SlowInside();
    std::map<int32_t, std::vector<int32_t>> slow;
    for (size_t p = 0; p < paths_.size(); ++p) {
      const bool explained = std::any_of(paths_[p].ranks.begin(), paths_[p].ranks.end(),
                                         [&](int32_t rank) { return slow_inside[static_cast<size_t>(rank)] != 0; });
      if (!paths_[p].slow || Crosses(paths_[p]) || !explained) continue;
      slow[HostOf(paths_[p].ranks[0])].push_back(static_cast<int32_t>(p));
    }
    // What the NVLink of many hosts has in common is how it was set up.
    if (!IsFewOf(slow.size(), std::set<int32_t>(host_of_.begin(), host_of_.end()).size())) return;
    for (auto& [host, here] : slow) {
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
        if (paths_[p].slow && explained_[p] == 0 && PassesInside(paths_[p], host)) {
          here.push_back(static_cast<int32_t>(p));
          explained_[p] = 1;
        }
      }
      cause.predicted = static_cast<int32_t>(here.size());
      cause.paths = std::move(here);
      causes_.push_back(std::move(cause));
    }
  }

  // Groups that never leave their host, are slow, and that no NVLink explains.
  void AddWithin() {
    PathCause within{.kind = PathCauseKind::kWithin};
    for (size_t p = 0; p < paths_.size(); ++p) {
      const VotePath& path = paths_[p];
      if (!path.slow || explained_[p] != 0 || path.exchange || path.point_to_point || Crosses(path)) continue;
      const PathCause group{.ranks = path.ranks, .paths = {static_cast<int32_t>(p)}, .predicted = 1};
      Join(&within, group);
    }
    within.hosts = HostsOf(within.ranks);
    if (!within.paths.empty()) causes_.push_back(std::move(within));
  }

  bool PassesInside(const VotePath& path, int32_t host) const {
    if (path.point_to_point || !Crosses(path)) return false;
    const auto on_host =
        std::count_if(path.ranks.begin(), path.ranks.end(), [&](int32_t r) { return HostOf(r) == host; });
    return static_cast<size_t>(on_host) >= kInsideShare;
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
      for (const int32_t host : HostsOf(paths_[static_cast<size_t>(p)].ranks)) ++at[host];
    }
    return std::all_of(at.begin(), at.end(),
                       [slow](const auto& host) { return static_cast<double>(host.second) < kHolds * slow; });
  }

  // What all hosts have in common.
  void TakeEverything() {
    PathCause cause = OfRail(slow_);
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
    Take(Conclude(best), best.front());
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
    PathCause cause = Between(paths_[static_cast<size_t>(*left)].ranks);
    cause.paths = {*left};
    cause.predicted = 1;
    causes_.push_back(std::move(cause));
    return true;
  }

  PathCause Between(std::vector<int32_t> ranks) const {
    PathCause cause{.kind = PathCauseKind::kGroup, .ranks = std::move(ranks)};
    if (cause.ranks.size() == 2) {
      cause.kind = PathCauseKind::kLink;
      cause.hosts = {HostOf(cause.ranks[0]), HostOf(cause.ranks[1])};
    } else {
      cause.hosts = HostsOf(cause.ranks);
    }
    std::sort(cause.ranks.begin(), cause.ranks.end());
    return cause;
  }

  // What suspects that explain the same have in common: an adapter, a link, or the hosts among which it lies.
  PathCause Conclude(const std::vector<SuspectKey>& best) const {
    std::set<int32_t> adapter_hosts, link_hosts;
    std::vector<SuspectKey> adapters, links;
    bool pairs = false;
    for (const SuspectKey& key : best) {
      const auto& [kind, a, b, c] = key;
      if (IsAdapter(kind)) {
        adapters.push_back(key);
        adapter_hosts.insert(a);
      } else if (kind == SuspectKind::kLink || kind == SuspectKind::kPair) {
        if (kind == SuspectKind::kLink) links.push_back(key);
        pairs = pairs || kind == SuspectKind::kPair;
        link_hosts.insert({a, b});
      }
    }
    const std::vector<int32_t> explained = Remaining(best.front());
    if (adapters.empty() && link_hosts.empty()) return OfRail(explained);
    if (adapter_hosts.size() == 1 && link_hosts.empty()) return OfAdapters(adapters);
    // What several GPUs of one host send to one other, or get from it: each has a way of its own, and what they share
    // is the host. Where both directions are slow, it is what lies between.
    if (link_hosts.size() == 2 && adapter_hosts.size() == 1 && SendersOf(explained).size() > 1) {
      PathCause side = OfAdapters(adapters);
      if (side.kind == PathCauseKind::kSend || side.kind == PathCauseKind::kReceive) return side;
    }
    if (link_hosts.size() == 2) return OfLink(link_hosts, links, explained);
    if (explained.size() == 1) return Between(paths_[static_cast<size_t>(explained.front())].ranks);
    link_hosts.insert(adapter_hosts.begin(), adapter_hosts.end());
    return AmongHosts(link_hosts, explained);
  }

  // Ranks that send what goes from rank to rank.
  std::set<int32_t> SendersOf(const std::vector<int32_t>& explained) const {
    std::set<int32_t> senders;
    for (const int32_t p : explained) {
      const VotePath& path = paths_[static_cast<size_t>(p)];
      if (path.point_to_point) senders.insert(path.ranks[0]);
    }
    return senders;
  }

  // All of one host. Which side of it, if only one can be.
  PathCause OfAdapters(const std::vector<SuspectKey>& adapters) const {
    const auto has = [&](SuspectKind wanted) {
      return std::any_of(adapters.begin(), adapters.end(),
                         [&](const SuspectKey& key) { return KindOf(key) == wanted; });
    };
    const bool send = has(SuspectKind::kSend), receive = has(SuspectKind::kReceive);
    PathCause cause{.hosts = {std::get<1>(adapters.front())}};
    for (const SuspectKey& key : adapters) {
      std::vector<int32_t> ranks = predictions_.RanksOf(key);
      if (cause.ranks.empty() || ranks.size() < cause.ranks.size()) cause.ranks = std::move(ranks);
    }
    const auto on_host = std::count(host_of_.begin(), host_of_.end(), cause.hosts[0]);
    const bool whole = cause.ranks.size() > 1 && cause.ranks.size() == static_cast<size_t>(on_host);
    cause.kind = send && !receive   ? PathCauseKind::kSend
                 : receive && !send ? PathCauseKind::kReceive
                 : whole            ? PathCauseKind::kHost
                                    : PathCauseKind::kNic;
    if (whole && cause.kind == PathCauseKind::kHost) cause.ranks.clear();
    return cause;
  }

  // In the direction of what goes between the two.
  PathCause OfLink(const std::set<int32_t>& ends, const std::vector<SuspectKey>& links,
                   const std::vector<int32_t>& explained) const {
    PathCause cause{.kind = PathCauseKind::kLink, .hosts = {ends.begin(), ends.end()}};
    const VotePath& first = paths_[static_cast<size_t>(explained.front())];
    const bool turned = links.size() == 1 ? std::get<1>(links.front()) == cause.hosts[1]
                                          : first.point_to_point && HostOf(first.ranks[0]) == cause.hosts[1];
    if (turned) std::swap(cause.hosts[0], cause.hosts[1]);
    return cause;
  }

  // Several suspects would explain the same paths, such as those of a ring of which all groups on it are slow.
  PathCause AmongHosts(const std::set<int32_t>& hosts, const std::vector<int32_t>& explained) const {
    PathCause cause{.kind = PathCauseKind::kHosts, .hosts = {hosts.begin(), hosts.end()}};
    // What is outside of their paths is not meant.
    std::set<int32_t> ends;
    for (const int32_t p : explained) {
      for (const int32_t rank : paths_[static_cast<size_t>(p)].ranks) ends.insert(HostOf(rank));
    }
    std::erase_if(cause.hosts, [&](int32_t host) { return !ends.contains(host); });
    return cause;
  }

  PathCause OfRail(const std::vector<int32_t>& explained) const {
    std::set<int32_t> ranks;
    for (const int32_t p : explained) {
      ranks.insert(paths_[static_cast<size_t>(p)].ranks.begin(), paths_[static_cast<size_t>(p)].ranks.end());
    }
    PathCause cause{.kind = PathCauseKind::kGroup, .ranks = {ranks.begin(), ranks.end()}};
    cause.hosts = HostsOf(cause.ranks);
    return cause;
  }

  static constexpr SuspectKey kPartKey{SuspectKind::kPart, -1, -1, -1};

  const std::vector<VotePath>& paths_;
  const std::vector<int32_t>& host_of_;
  const PathSuspects predictions_;
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
