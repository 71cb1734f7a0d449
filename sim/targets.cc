#include "sim/targets.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

constexpr int kMostTries = 64;

// Another host to which some rank of `host` sends: the next stage's, or the next of its data group.
int32_t RandomNeighbour(int32_t rank, const Layout& layout, Random& random) {
  const bool pipeline_first = random.Below(2) == 0;
  const GroupKind kinds[] = {pipeline_first ? GroupKind::kPipeline : GroupKind::kData,
                             pipeline_first ? GroupKind::kData : GroupKind::kPipeline};
  for (const GroupKind kind : kinds) {
    const int32_t size = layout.GroupSize(kind);
    const int32_t next = (layout.IndexInGroup(kind, rank) + 1) % size;
    const int32_t host = layout.HostOf(layout.Member(kind, layout.GroupOf(kind, rank), next));
    if (host != layout.HostOf(rank)) return host;
  }
  return -1;
}

}  // namespace

int32_t TargetCount(TargetKind target, const Layout& layout) {
  switch (target) {
    case TargetKind::kJob:
      return 0;
    case TargetKind::kRank:
    case TargetKind::kNic:
      return layout.ranks();
    case TargetKind::kHost:
    case TargetKind::kHostPair:
      return layout.hosts();
    case TargetKind::kLeaf:
      return layout.leaves();
  }
  return 0;
}

std::vector<int32_t> RandomTargets(TargetKind target, int32_t count, const Layout& layout, Random& random) {
  std::vector<int32_t> targets;
  if (target == TargetKind::kHostPair) {
    for (int i = 0; i < kMostTries && targets.size() < 2 * static_cast<size_t>(count); ++i) {
      const auto rank = static_cast<int32_t>(random.Below(layout.ranks()));
      const int32_t neighbour = RandomNeighbour(rank, layout, random);
      if (neighbour < 0) continue;
      targets.push_back(layout.HostOf(rank));
      targets.push_back(neighbour);
    }
    return targets;
  }
  const int32_t population = TargetCount(target, layout);
  const auto wanted = static_cast<size_t>(std::min(count, population));
  std::vector<bool> taken(population, false);
  while (targets.size() < wanted) {
    const auto drawn = static_cast<int32_t>(random.Below(population));
    if (taken[drawn]) continue;
    taken[drawn] = true;
    targets.push_back(drawn);
  }
  return targets;
}

}  // namespace lockstep
