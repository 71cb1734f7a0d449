#include "detector/model/pipelines.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/shares.h"
#include "detector/model/disjoint_sets.h"
#include "detector/model/one_way_rings.h"

namespace lockstep {
namespace {

// A member of a pipeline talks to the stage before and the one after; in an all-to-all of Send/Recv to many.
constexpr size_t kMaxPipelinePeers = 2;
// Of the collectives of a group, that are so large; a checkpoint or a start makes fewer.
constexpr double kMinLarge = kFew;
// Those that share an embedding are two stages, and reduce as much.
constexpr size_t kMaxSharers = 2;

// Rank index; -1 = it left no record, or there is no such place.
int32_t MemberAt(const Trace& trace, int32_t communicator, int32_t place) {
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(communicator)].members;
  return place >= 0 && static_cast<size_t>(place) < members.size() ? members[static_cast<size_t>(place)] : -1;
}

// By rank: communicators in which it reduces or gathers much, rising.
std::vector<std::vector<size_t>> ReducesIn(const Trace& trace, absl::Span<const OperationMix> mixes) {
  std::vector<std::vector<size_t>> reduces_in(trace.ranks.size());
  for (size_t i = 0; i < trace.communicators.size(); ++i) {
    const std::vector<int32_t>& members = trace.communicators[i].members;
    const bool reduces = mixes[i].large > 0 &&
                         static_cast<double>(mixes[i].large) >= kMinLarge * static_cast<double>(mixes[i].collectives);
    if (!reduces || members.size() <= kMaxSharers) continue;
    for (const int32_t member : members) {
      if (member >= 0) reduces_in[static_cast<size_t>(member)].push_back(i);
    }
  }
  return reduces_in;
}

// What is reduced together belongs to the same layers, so that those who send to one another there are no stages.
bool ReduceTogether(const std::vector<size_t>& of_a, const std::vector<size_t>& of_b) {
  return std::find_first_of(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()) != of_a.end();
}

// By communicator: whether equals send to one another in it.
std::vector<char> FindEqualSenders(const Trace& trace, const OperationInstances& matched,
                                   absl::Span<const OperationMix> mixes) {
  const std::vector<std::vector<size_t>> reduces_in = ReducesIn(trace, mixes);
  const std::vector<char> rings = FindOneWayRings(trace, matched);
  std::vector<char> equal(trace.communicators.size(), 0), unequal(trace.communicators.size(), 0);
  for (const OperationChannel& channel : matched.channels) {
    if (channel.collective()) continue;
    const int32_t source = MemberAt(trace, channel.communicator, channel.source);
    const int32_t destination = MemberAt(trace, channel.communicator, channel.destination);
    if (source < 0 || destination < 0) continue;
    const bool together =
        ReduceTogether(reduces_in[static_cast<size_t>(source)], reduces_in[static_cast<size_t>(destination)]);
    (together ? equal : unequal)[static_cast<size_t>(channel.communicator)] = 1;
  }
  std::vector<char> equal_senders(trace.communicators.size(), 0);
  for (size_t i = 0; i < equal_senders.size(); ++i) {
    equal_senders[i] = rings[i] != 0 || (equal[i] != 0 && unequal[i] == 0) ? 1 : 0;
  }
  return equal_senders;
}

}  // namespace

Pipelines FindPipelines(const Trace& trace, const OperationInstances& matched, absl::Span<const OperationMix> mixes) {
  Pipelines found;
  found.equal_senders = FindEqualSenders(trace, matched, mixes);
  const auto may_be_stages = [&](const OperationChannel& channel) {
    return !channel.collective() && found.equal_senders[static_cast<size_t>(channel.communicator)] == 0;
  };
  std::map<std::pair<int32_t, int32_t>, std::set<int32_t>> partners;  // (communicator, place) -> places
  for (const OperationChannel& channel : matched.channels) {
    if (!may_be_stages(channel)) continue;
    partners[{channel.communicator, channel.source}].insert(channel.destination);
    partners[{channel.communicator, channel.destination}].insert(channel.source);
  }
  DisjointSets connected(trace.ranks.size());
  found.of_rank.assign(trace.ranks.size(), -1);
  for (const OperationChannel& channel : matched.channels) {
    if (!may_be_stages(channel) || partners[{channel.communicator, channel.source}].size() > kMaxPipelinePeers ||
        partners[{channel.communicator, channel.destination}].size() > kMaxPipelinePeers) {
      continue;
    }
    const int32_t source = MemberAt(trace, channel.communicator, channel.source);
    const int32_t destination = MemberAt(trace, channel.communicator, channel.destination);
    if (source < 0 || destination < 0) continue;
    connected.Join(source, destination);
    found.of_rank[static_cast<size_t>(source)] = 0;
    found.of_rank[static_cast<size_t>(destination)] = 0;
    found.any = true;
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    int32_t& pipeline = found.of_rank[rank];
    if (pipeline == 0) pipeline = connected.Find(static_cast<int32_t>(rank));
  }
  return found;
}

}  // namespace lockstep
