#include "sim/second/suspects.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace lockstep::second {
namespace {

// Operations by number: a group, or a directed way between two ranks.
using Operations = std::set<std::pair<int, int>>;

struct Sides {
  Operations out;
  Operations in;
};

class Signatures {
 public:
  Signatures(const World& world, const Layout& layout) : world_(world), layout_(layout) {
    for (int index = 0; index < static_cast<int>(layout.groups().size()); ++index) AddGroup(index);
    for (int rank = 0; rank < layout.ranks() && world.shape.pipeline > 1; ++rank) AddStages(rank);
  }

  const Sides& Of(int host) { return sides_[host]; }

 private:
  void AddGroup(int index);
  void AddStages(int rank);
  void AddWay(int from, int to, std::pair<int, int> operation);

  const World& world_;
  const Layout& layout_;
  std::map<int, Sides> sides_;
};

void Signatures::AddWay(int from, int to, std::pair<int, int> operation) {
  const int from_host = layout_.HostOf(from);
  const int to_host = layout_.HostOf(to);
  if (from_host == to_host) return;
  sides_[from_host].out.insert(operation);
  sides_[to_host].in.insert(operation);
}

// Every member both sends and receives, whatever the way: who is slow shows in the time of all.
void Signatures::AddGroup(int index) {
  const Group& group = layout_.group(index);
  const bool moves_little = group.role == Role::kWorld || group.role == Role::kPipeline || group.role == Role::kPair;
  const bool passes_around = group.role == Role::kContext && world_.shape.context_ring;
  if (moves_little) return;
  const std::vector<int>& members = group.members;
  for (size_t i = 0; i < members.size(); ++i) {
    const int next = members[(i + 1) % members.size()];
    AddWay(members[i], next, passes_around ? std::pair(members[i], next) : std::pair(-1 - index, 0));
  }
}

void Signatures::AddStages(int rank) {
  const Shape& shape = world_.shape;
  Place next = layout_.PlaceOf(rank);
  if (next.stage + 1 == shape.pipeline && shape.chunks == 1) return;
  next.stage = (next.stage + 1) % shape.pipeline;
  const int other = layout_.RankAt(next);
  AddWay(rank, other, {rank, other});
  AddWay(other, rank, {other, rank});
}

Suspects OfStuckRing(const Layout& layout, const Fault& fault) {
  Suspects suspects{.is_network = true, .hosts = {}};
  const Group& group = layout.group(fault.group);
  if (group.role != Role::kData) return suspects;
  for (const int rank : group.members) suspects.hosts.push_back(layout.HostOf(rank));
  std::sort(suspects.hosts.begin(), suspects.hosts.end());
  suspects.hosts.erase(std::unique(suspects.hosts.begin(), suspects.hosts.end()), suspects.hosts.end());
  return suspects;
}

bool IsInside(const OperationPlayed& operation) { return operation.start_ns != kNever && operation.end_ns == kNever; }

Suspects OfDeath(const Layout& layout, int dead, const Playback& playback) {
  Suspects suspects{.is_network = true, .hosts = {}};
  const std::vector<OperationPlayed>& calls = playback.operations[static_cast<size_t>(dead)];
  const auto inside = std::find_if(calls.begin(), calls.end(), IsInside);
  if (inside == calls.end()) return suspects;
  const std::vector<int>& members = layout.group(inside->group).members;
  std::vector<int> ranks;
  if (inside->peer >= 0) {
    ranks.push_back(members[static_cast<size_t>(inside->peer)]);
  } else {
    std::copy_if(members.begin(), members.end(), std::back_inserter(ranks), [&](int other) {
      return other != dead && playback.operations[static_cast<size_t>(other)].size() == calls.size();
    });
  }
  // One of them is not there yet: that one only waits for others, or the dead one does.
  const auto is_there = [&](int other) {
    const std::vector<OperationPlayed>& theirs = playback.operations[static_cast<size_t>(other)];
    return std::any_of(theirs.begin(), theirs.end(), [&](const OperationPlayed& one) {
      return IsInside(one) && one.group == inside->group && one.sequence == inside->sequence;
    });
  };
  if (!std::all_of(ranks.begin(), ranks.end(), is_there)) return suspects;
  // Whoever has called as much cannot be told from it, and then all that stand there are suspects.
  if (ranks.empty()) return suspects;
  for (const int rank : inside->peer >= 0 ? ranks : members) suspects.hosts.push_back(layout.HostOf(rank));
  std::sort(suspects.hosts.begin(), suspects.hosts.end());
  suspects.hosts.erase(std::unique(suspects.hosts.begin(), suspects.hosts.end()), suspects.hosts.end());
  return suspects;
}

}  // namespace

Suspects SuspectsOf(const World& world, const Layout& layout, const Fault& fault, const Playback& playback) {
  if (fault.kind == FaultKind::kHangInCommunication) return OfStuckRing(layout, fault);
  if (fault.kind == FaultKind::kProcessDead) return OfDeath(layout, fault.ranks[0], playback);
  if (fault.kind < FaultKind::kNicTxSlow || fault.kind > FaultKind::kLeafSlow) return {};
  Signatures signatures(world, layout);
  const Sides& own = signatures.Of(fault.hosts[0]);
  const Operations& side = fault.kind == FaultKind::kNicRxSlow ? own.in : own.out;
  Suspects suspects{.is_network = true, .hosts = {}};
  for (int host = 0; host < layout.hosts(); ++host) {
    if (std::find(fault.hosts.begin(), fault.hosts.end(), host) != fault.hosts.end()) continue;
    const Sides& other = signatures.Of(host);
    if (other.out == side || other.in == side) suspects.hosts.push_back(host);
  }
  return suspects;
}

}  // namespace lockstep::second
