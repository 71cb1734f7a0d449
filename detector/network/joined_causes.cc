#include "detector/network/joined_causes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace lockstep {
namespace {

// That happen side by side; more of one kind at once have one cause. By judgement, not measured.
constexpr size_t kFewCauses = 2;

size_t CountOf(PathCauseKind kind, const std::vector<PathCause>& causes) {
  return static_cast<size_t>(
      std::count_if(causes.begin(), causes.end(), [kind](const PathCause& cause) { return cause.kind == kind; }));
}

// What is behind a switch is slowed down alike; an echo is what its transfers make late elsewhere.
void LeaveEchoes(PathCauseKind kind, std::vector<PathCause>* causes) {
  size_t most = 0;
  for (const PathCause& cause : *causes) {
    if (cause.kind == kind) most = std::max(most, cause.paths.size());
  }
  std::erase_if(*causes, [&](const PathCause& cause) { return cause.kind == kind && 2 * cause.paths.size() < most; });
}

}  // namespace

void Join(PathCause* into, const PathCause& from) {
  into->paths.insert(into->paths.end(), from.paths.begin(), from.paths.end());
  std::sort(into->paths.begin(), into->paths.end());
  into->predicted += from.predicted;
  std::set<int32_t> ranks(into->ranks.begin(), into->ranks.end());
  ranks.insert(from.ranks.begin(), from.ranks.end());
  into->ranks.assign(ranks.begin(), ranks.end());
}

void JoinEqualOnes(std::vector<PathCause>* causes) {
  std::map<std::pair<PathCauseKind, std::vector<int32_t>>, size_t> first;
  std::vector<PathCause> joined;
  for (PathCause& cause : *causes) {
    std::vector<int32_t> hosts = cause.hosts;
    std::sort(hosts.begin(), hosts.end());
    const auto [found, fresh] = first.emplace(std::pair(cause.kind, std::move(hosts)), joined.size());
    if (fresh) {
      joined.push_back(std::move(cause));
    } else {
      Join(&joined[found->second], cause);
    }
  }
  *causes = std::move(joined);
}

void JoinManyOfOneKind(std::vector<PathCause>* causes) {
  for (const PathCauseKind kind : {PathCauseKind::kSend, PathCauseKind::kReceive, PathCauseKind::kNic,
                                   PathCauseKind::kHost, PathCauseKind::kGroup, PathCauseKind::kHosts}) {
    if (CountOf(kind, *causes) <= kFewCauses) continue;
    LeaveEchoes(kind, causes);
    if (CountOf(kind, *causes) <= kFewCauses) continue;
    const auto is_one = [kind](const PathCause& cause) { return cause.kind == kind; };
    const auto first = std::find_if(causes->begin(), causes->end(), is_one);
    for (auto next = std::next(first); next != causes->end(); ++next) {
      if (next->kind != kind) continue;
      Join(&*first, *next);
      first->hosts.insert(first->hosts.end(), next->hosts.begin(), next->hosts.end());
    }
    first->ranks.clear();
    std::sort(first->hosts.begin(), first->hosts.end());
    first->hosts.erase(std::unique(first->hosts.begin(), first->hosts.end()), first->hosts.end());
    first->kind = PathCauseKind::kFabric;
    // A host with a slow adapter of its own is behind the switch; of a slow group any may be.
    first->told_apart = kind != PathCauseKind::kGroup && kind != PathCauseKind::kHosts;
    std::erase_if(*causes, is_one);
  }
}

void JoinManyLinks(absl::FunctionRef<bool(int32_t host)> is_slow, std::vector<PathCause>* causes) {
  constexpr PathCauseKind kKind = PathCauseKind::kLink;
  if (CountOf(kKind, *causes) <= kFewCauses) return;
  PathCause part{.kind = PathCauseKind::kFabric};
  std::set<int32_t> side;
  for (const PathCause& link : *causes) {
    if (link.kind != kKind) continue;
    const bool first = is_slow(link.hosts[0]), second = is_slow(link.hosts[1]);
    if (first == second) return;
    side.insert(link.hosts[first ? 0 : 1]);
    Join(&part, link);
  }
  part.ranks.clear();
  part.hosts.assign(side.begin(), side.end());
  std::erase_if(*causes, [](const PathCause& cause) { return cause.kind == kKind; });
  causes->push_back(std::move(part));
}

}  // namespace lockstep
