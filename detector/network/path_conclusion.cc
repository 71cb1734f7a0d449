#include "detector/network/path_conclusion.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace lockstep {

PathCause PathConclusion::Of(const std::vector<SuspectKey>& equals, const std::vector<int32_t>& explained) const {
  std::set<int32_t> adapter_hosts, link_hosts;
  std::vector<SuspectKey> adapters, links;
  for (const SuspectKey& key : equals) {
    const auto& [kind, a, b, c] = key;
    if (IsAdapter(kind)) {
      adapters.push_back(key);
      adapter_hosts.insert(a);
    } else if (kind == SuspectKind::kLink || kind == SuspectKind::kPair) {
      if (kind == SuspectKind::kLink) links.push_back(key);
      link_hosts.insert({a, b});
    }
  }
  if (adapters.empty() && link_hosts.empty()) return OfRail(explained);
  if (adapter_hosts.size() == 1 && link_hosts.empty()) return OfAdapters(adapters);
  // What several GPUs of one host send to one other, or get from it: each has a way of its own, and what they share
  // is the host. Where both directions are slow, it is what lies between.
  if (link_hosts.size() == 2 && adapter_hosts.size() == 1 && SendersOf(explained).size() > 1) {
    PathCause side = OfAdapters(adapters);
    if (side.kind == PathCauseKind::kSend || side.kind == PathCauseKind::kReceive) return side;
  }
  if (link_hosts.size() == 2) return OfLink(link_hosts, links, explained);
  if (explained.size() == 1) return OfPath(explained.front());
  link_hosts.insert(adapter_hosts.begin(), adapter_hosts.end());
  return AmongHosts(link_hosts, explained);
}

PathCause PathConclusion::OfPath(int32_t path) const {
  PathCause cause{.kind = PathCauseKind::kGroup, .ranks = paths_[static_cast<size_t>(path)].ranks};
  if (cause.ranks.size() == 2) {
    cause.kind = PathCauseKind::kLink;
    cause.hosts = {HostOf(cause.ranks[0]), HostOf(cause.ranks[1])};
  } else {
    cause.hosts = HostsOf(cause.ranks, host_of_);
  }
  std::sort(cause.ranks.begin(), cause.ranks.end());
  return cause;
}

// Ranks that send what goes from rank to rank.
std::set<int32_t> PathConclusion::SendersOf(const std::vector<int32_t>& explained) const {
  std::set<int32_t> senders;
  for (const int32_t p : explained) {
    const VotePath& path = paths_[static_cast<size_t>(p)];
    if (path.point_to_point) senders.insert(path.ranks[0]);
  }
  return senders;
}

// All of one host. Which side of it, if only one can be.
PathCause PathConclusion::OfAdapters(const std::vector<SuspectKey>& adapters) const {
  const auto has = [&](SuspectKind wanted) {
    return std::any_of(adapters.begin(), adapters.end(), [&](const SuspectKey& key) { return KindOf(key) == wanted; });
  };
  const bool send = has(SuspectKind::kSend), receive = has(SuspectKind::kReceive);
  PathCause cause{.hosts = {std::get<1>(adapters.front())}};
  for (const SuspectKey& key : adapters) {
    std::vector<int32_t> ranks = suspects_.RanksOf(key);
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
PathCause PathConclusion::OfLink(const std::set<int32_t>& ends, const std::vector<SuspectKey>& links,
                                 const std::vector<int32_t>& explained) const {
  PathCause cause{.kind = PathCauseKind::kLink, .hosts = {ends.begin(), ends.end()}};
  const VotePath& first = paths_[static_cast<size_t>(explained.front())];
  const bool turned = links.size() == 1 ? std::get<1>(links.front()) == cause.hosts[1]
                                        : first.point_to_point && HostOf(first.ranks[0]) == cause.hosts[1];
  if (turned) std::swap(cause.hosts[0], cause.hosts[1]);
  return cause;
}

// Several suspects would explain the same paths, such as those of a ring of which all groups on it are slow.
PathCause PathConclusion::AmongHosts(const std::set<int32_t>& hosts, const std::vector<int32_t>& explained) const {
  PathCause cause{.kind = PathCauseKind::kHosts, .hosts = {hosts.begin(), hosts.end()}};
  // What is outside of their paths is not meant.
  std::set<int32_t> ends;
  for (const int32_t p : explained) {
    for (const int32_t rank : paths_[static_cast<size_t>(p)].ranks) ends.insert(HostOf(rank));
  }
  std::erase_if(cause.hosts, [&](int32_t host) { return !ends.contains(host); });
  return cause;
}

PathCause PathConclusion::OfRail(const std::vector<int32_t>& explained) const {
  std::set<int32_t> ranks;
  for (const int32_t p : explained) {
    ranks.insert(paths_[static_cast<size_t>(p)].ranks.begin(), paths_[static_cast<size_t>(p)].ranks.end());
  }
  PathCause cause{.kind = PathCauseKind::kGroup, .ranks = {ranks.begin(), ranks.end()}};
  cause.hosts = HostsOf(cause.ranks, host_of_);
  return cause;
}

}  // namespace lockstep
