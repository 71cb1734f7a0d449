#include "detector/links/path_vote.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lockstep {
namespace {

// Of the paths that a suspect would slow down, this share must be slow.
constexpr double kHolds = 0.8;
constexpr size_t kMostExchangeHosts = 16;  // of an AllToAll whose host pairs are looked at one by one

enum class SuspectKind : uint8_t { kSend, kReceive, kNic, kHost, kLink, kSide };
using SuspectKey = std::tuple<SuspectKind, int32_t, int32_t>;

struct Suspect {
  std::vector<int32_t> slow;  // paths, rising
  int32_t predicted = 0;
};

class Vote {
 public:
  Vote(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of) : paths_(paths), host_of_(host_of) {}

  std::vector<PathCause> Run() {
    VoteInside();
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (Crosses(paths_[p])) (paths_[p].slow ? slow_ : fine_).push_back(static_cast<int32_t>(p));
    }
    if (slow_.empty()) return std::move(causes_);
    FindSides();
    for (const int32_t p : slow_) {
      for (const SuspectKey& key : SuspectsOf(p)) {
        Suspect& suspect = suspects_[key];
        suspect.slow.push_back(p);
        ++suspect.predicted;
      }
    }
    for (const int32_t p : fine_) {
      for (const SuspectKey& key : SuspectsOf(p)) {
        const auto found = suspects_.find(key);
        if (found != suspects_.end()) ++found->second.predicted;
      }
    }
    for (const auto& [key, suspect] : suspects_) keys_.push_back(key);
    std::sort(keys_.begin(), keys_.end());
    explained_.assign(paths_.size(), 0);
    for (int round = 0; round < kMaxPathCauses && TakeBest(); ++round) {
    }
    return std::move(causes_);
  }

 private:
  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }

  bool Crosses(const VotePath& path) const {
    return std::any_of(path.ranks.begin(), path.ranks.end(),
                       [&](int32_t r) { return HostOf(r) != HostOf(path.ranks[0]); });
  }

  std::vector<int32_t> HostsOf(const VotePath& path) const {
    std::vector<int32_t> hosts;
    for (const int32_t rank : path.ranks) hosts.push_back(HostOf(rank));
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    return hosts;
  }

  // Slow paths that never leave their host.
  void VoteInside() {
    std::map<int32_t, std::vector<int32_t>> slow;
    for (size_t p = 0; p < paths_.size(); ++p) {
      if (paths_[p].slow && !Crosses(paths_[p])) slow[HostOf(paths_[p].ranks[0])].push_back(static_cast<int32_t>(p));
    }
    for (auto& [host, here] : slow) {
      std::map<int32_t, size_t> in;
      for (const int32_t p : here) {
        for (const int32_t rank : paths_[static_cast<size_t>(p)].ranks) ++in[rank];
      }
      PathCause cause{.kind = PathCauseKind::kInside, .hosts = {host}};
      for (const auto& [rank, count] : in) {
        if (count == here.size()) cause.ranks.push_back(rank);
      }
      cause.predicted = static_cast<int32_t>(here.size());
      cause.paths = std::move(here);
      causes_.push_back(std::move(cause));
    }
  }

  // Parts of the network: hosts that good paths connect.
  void FindSides() {
    const int32_t hosts = 1 + *std::max_element(host_of_.begin(), host_of_.end());
    side_.resize(static_cast<size_t>(hosts));
    std::iota(side_.begin(), side_.end(), 0);
    for (const int32_t p : fine_) {
      const std::vector<int32_t> on = HostsOf(paths_[static_cast<size_t>(p)]);
      for (const int32_t host : on) side_[static_cast<size_t>(Root(host))] = Root(on[0]);
    }
    for (int32_t host = 0; host < hosts; ++host) side_[static_cast<size_t>(host)] = Root(host);
    side_size_.assign(side_.size(), 0);
    for (const int32_t side : side_) ++side_size_[static_cast<size_t>(side)];
  }

  int32_t Root(int32_t host) {
    while (side_[static_cast<size_t>(host)] != host) {
      side_[static_cast<size_t>(host)] = side_[static_cast<size_t>(side_[static_cast<size_t>(host)])];
      host = side_[static_cast<size_t>(host)];
    }
    return host;
  }

  // Everything that would make this path slow.
  std::vector<SuspectKey> SuspectsOf(int32_t index) const {
    const VotePath& path = paths_[static_cast<size_t>(index)];
    std::vector<SuspectKey> keys;
    const std::vector<int32_t> hosts = HostsOf(path);
    const auto add_link = [&](int32_t a, int32_t b) {
      if (a != b) keys.push_back({SuspectKind::kLink, std::min(a, b), std::max(a, b)});
    };
    if (path.point_to_point) {
      keys.push_back({SuspectKind::kSend, path.ranks[0], -1});
      keys.push_back({SuspectKind::kReceive, path.ranks[1], -1});
    } else {
      for (const int32_t rank : path.ranks) {
        keys.push_back({SuspectKind::kSend, rank, -1});
        keys.push_back({SuspectKind::kReceive, rank, -1});
      }
    }
    for (const int32_t rank : path.ranks) keys.push_back({SuspectKind::kNic, rank, -1});
    std::set<int32_t> sides;
    for (const int32_t host : hosts) {
      keys.push_back({SuspectKind::kHost, host, -1});
      sides.insert(side_[static_cast<size_t>(host)]);
    }
    if (sides.size() > 1) {
      for (const int32_t side : sides) {
        if (side_size_[static_cast<size_t>(side)] > 1) keys.push_back({SuspectKind::kSide, side, -1});
      }
    }
    if (!path.exchange) {
      for (size_t i = 0; i < path.ranks.size(); ++i) {
        add_link(HostOf(path.ranks[i]), HostOf(path.ranks[(i + 1) % path.ranks.size()]));
      }
    } else if (hosts.size() <= kMostExchangeHosts) {
      for (size_t a = 0; a < hosts.size(); ++a) {
        for (size_t b = a + 1; b < hosts.size(); ++b) add_link(hosts[a], hosts[b]);
      }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  std::vector<int32_t> Remaining(const Suspect& suspect) const {
    std::vector<int32_t> remaining;
    std::copy_if(suspect.slow.begin(), suspect.slow.end(), std::back_inserter(remaining),
                 [&](int32_t p) { return explained_[static_cast<size_t>(p)] == 0; });
    return remaining;
  }

  bool Holds(const Suspect& suspect) const {
    return static_cast<double>(suspect.slow.size()) >= kHolds * suspect.predicted;
  }

  // The suspects that explain most of what is left; of these, those that predict least besides.
  bool TakeBest() {
    size_t most = 0;
    int32_t predicted = 0;
    std::vector<SuspectKey> best;
    for (const SuspectKey& key : keys_) {
      const Suspect& suspect = suspects_.at(key);
      if (!Holds(suspect)) continue;
      const size_t remaining = Remaining(suspect).size();
      if (remaining == 0 || remaining < most || (remaining == most && suspect.predicted > predicted)) continue;
      if (remaining > most || suspect.predicted < predicted) best.clear();
      most = remaining;
      predicted = suspect.predicted;
      best.push_back(key);
    }
    if (best.empty()) return TakeWholePath();
    std::vector<int32_t> explained = Remaining(suspects_.at(best.front()));
    std::erase_if(best, [&](const SuspectKey& key) { return Remaining(suspects_.at(key)) != explained; });
    PathCause cause = Conclude(best, explained);
    cause.predicted = predicted;
    for (const int32_t p : explained) explained_[static_cast<size_t>(p)] = 1;
    cause.paths = std::move(explained);
    causes_.push_back(std::move(cause));
    return true;
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
    }
    std::sort(cause.ranks.begin(), cause.ranks.end());
    return cause;
  }

  PathCause Conclude(const std::vector<SuspectKey>& best, const std::vector<int32_t>& explained) const {
    std::set<int32_t> nics;
    std::vector<SuspectKey> links;
    std::vector<SuspectKey> sides;
    bool send = false;
    bool receive = false;
    std::vector<int32_t> hosts;
    for (const SuspectKey& key : best) {
      const auto [kind, a, b] = key;
      if (kind == SuspectKind::kLink) {
        links.push_back(key);
      } else if (kind == SuspectKind::kSide) {
        sides.push_back(key);
      } else if (kind == SuspectKind::kHost) {
        hosts.push_back(a);
      } else {
        nics.insert(a);
        send = send || kind != SuspectKind::kReceive;
        receive = receive || kind != SuspectKind::kSend;
      }
    }
    if (!sides.empty() && nics.empty() && links.empty() && hosts.empty()) return OfSides(sides);
    if (nics.size() == 1 && links.empty()) {
      const PathCauseKind kind =
          send && receive ? PathCauseKind::kNic : (send ? PathCauseKind::kSend : PathCauseKind::kReceive);
      return {.kind = kind, .ranks = {*nics.begin()}, .hosts = {HostOf(*nics.begin())}};
    }
    if (links.size() == 1) return OfLink(links[0], explained);
    if (!nics.empty()) return Between({nics.begin(), nics.end()});
    if (links.size() > 1) return AmongHosts(links, hosts);
    if (hosts.size() == 1 && links.empty()) return {.kind = PathCauseKind::kHost, .hosts = std::move(hosts)};
    if (hosts.size() > 1) return {.kind = PathCauseKind::kHosts, .hosts = std::move(hosts)};
    return Between(paths_[static_cast<size_t>(explained.front())].ranks);
  }

  // Several links that would explain the same paths, such as those of a ring of which all groups on it are slow.
  static PathCause AmongHosts(const std::vector<SuspectKey>& links, const std::vector<int32_t>& hosts) {
    std::set<int32_t> ends(hosts.begin(), hosts.end());
    for (const auto& [kind, a, b] : links) {
      ends.insert(a);
      ends.insert(b);
    }
    return {.kind = PathCauseKind::kHosts, .hosts = {ends.begin(), ends.end()}};
  }

  PathCause OfLink(const SuspectKey& link, const std::vector<int32_t>& explained) const {
    PathCause cause{.kind = PathCauseKind::kLink, .hosts = {std::get<1>(link), std::get<2>(link)}};
    const VotePath& first = paths_[static_cast<size_t>(explained.front())];
    if (first.point_to_point && HostOf(first.ranks[0]) == cause.hosts[1]) std::swap(cause.hosts[0], cause.hosts[1]);
    return cause;
  }

  // The smaller side of a divided network; both when they are of one size.
  PathCause OfSides(const std::vector<SuspectKey>& sides) const {
    int32_t smallest = side_size_[static_cast<size_t>(std::get<1>(sides[0]))];
    for (const SuspectKey& key : sides) {
      smallest = std::min(smallest, side_size_[static_cast<size_t>(std::get<1>(key))]);
    }
    PathCause cause{.kind = PathCauseKind::kFabric};
    for (size_t host = 0; host < side_.size(); ++host) {
      const bool named = std::any_of(sides.begin(), sides.end(), [&](const SuspectKey& key) {
        const int32_t side = std::get<1>(key);
        return side == side_[host] && side_size_[static_cast<size_t>(side)] == smallest;
      });
      if (named) cause.hosts.push_back(static_cast<int32_t>(host));
    }
    return cause;
  }

  const std::vector<VotePath>& paths_;
  const std::vector<int32_t>& host_of_;
  std::vector<int32_t> slow_;  // crossing paths
  std::vector<int32_t> fine_;
  std::vector<int32_t> side_;  // by host: the lowest-rooted host of its side
  std::vector<int32_t> side_size_;
  absl::flat_hash_map<SuspectKey, Suspect> suspects_;
  std::vector<SuspectKey> keys_;
  std::vector<char> explained_;
  std::vector<PathCause> causes_;
};

}  // namespace

std::vector<PathCause> VoteOnPaths(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of) {
  if (paths.empty() || host_of.empty()) return {};
  return Vote(paths, host_of).Run();
}

}  // namespace lockstep
