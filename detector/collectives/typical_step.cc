#include "detector/collectives/typical_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"

namespace lockstep {
namespace {

// Longer chains between two operations of the anchor are not followed.
constexpr size_t kMaxChain = 1024;
// A median of fewer peers than this says nothing: with one, either of the two may be the odd one.
constexpr size_t kMinPeers = 2;

struct Visit {
  int32_t communicator_slot;
  uint64_t sequence;
  const Participation* participation;
};
using Chain = std::vector<Visit>;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

double Median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<int64_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values->begin(), middle)) / 2;
}

// Follows one member back from a synchronous operation of the anchor to the synchronous one before it.
bool FollowBack(const OperationHistory& history, int32_t anchor_slot, uint64_t anchor_sequence, int32_t member,
                Chain* chain) {
  chain->clear();
  int32_t slot = anchor_slot;
  uint64_t sequence = anchor_sequence;
  while (chain->size() < kMaxChain) {
    if (!history.Complete(slot, sequence)) return false;
    const Participation& part = history.Participations(slot, sequence)[member];
    if (part.own_ns < 0 || part.duration_ns < 0) return false;
    chain->push_back({slot, sequence, &part});
    if (part.previous_slot == anchor_slot) {
      std::reverse(chain->begin(), chain->end());
      return part.previous_sequence < anchor_sequence;
    }
    slot = part.previous_slot;
    sequence = part.previous_sequence;
    member = part.previous_member;
    if (slot < 0) return false;
  }
  return false;
}

// One segment of one step: the chains of all participants, or nothing. A rooted operation of the anchor synchronises
// nobody: it has no segment (no chains), and is part of the next one.
bool CollectChains(const OperationHistory& history, int32_t anchor_slot, uint64_t sequence, size_t members,
                   std::vector<Chain>* chains) {
  if (!history.Complete(anchor_slot, sequence)) return false;
  if (!IsSynchronous(history.Find(anchor_slot, sequence)->kind)) return true;
  chains->resize(members);
  for (size_t member = 0; member < members; ++member) {
    if (!FollowBack(history, anchor_slot, sequence, static_cast<int32_t>(member), &(*chains)[member])) return false;
  }
  return true;
}

bool SameShape(const std::vector<Chain>& a, const std::vector<Chain>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (size_t j = 0; j < a[i].size(); ++j) {
      if (a[i][j].communicator_slot != b[i][j].communicator_slot) return false;
    }
  }
  return true;
}

// Numbers the operations of the reference step so that each comes after all that its members did before; false for a
// cycle, which only contradictory records can form.
bool OrderNodes(const std::vector<Chain>& chains, StepSegment* segment) {
  absl::flat_hash_map<std::pair<int32_t, uint64_t>, int32_t> waiting;  // arrivals still missing
  for (const Chain& chain : chains) {
    for (const Visit& visit : chain) ++waiting[{visit.communicator_slot, visit.sequence}];
  }
  std::vector<size_t> position(chains.size(), 0);
  absl::flat_hash_map<std::pair<int32_t, uint64_t>, std::vector<size_t>> at;  // participants that have arrived
  std::vector<size_t> runnable(chains.size());
  for (size_t i = 0; i < runnable.size(); ++i) runnable[i] = i;
  segment->chains.assign(chains.size(), {});
  size_t links = 0, placed = 0;
  for (const Chain& chain : chains) links += chain.size();
  while (!runnable.empty()) {
    const size_t rank = runnable.back();
    runnable.pop_back();
    if (position[rank] == chains[rank].size()) continue;
    const Visit& visit = chains[rank][position[rank]];
    const std::pair<int32_t, uint64_t> key{visit.communicator_slot, visit.sequence};
    std::vector<size_t>& arrived = at[key];
    arrived.push_back(rank);
    if (--waiting[key] > 0) continue;
    const auto node = static_cast<int32_t>(segment->nodes.size());
    segment->nodes.push_back({.communicator_slot = visit.communicator_slot});
    std::sort(arrived.begin(), arrived.end());
    for (const size_t member : arrived) {
      segment->nodes.back().arrivals.push_back({static_cast<int32_t>(member), static_cast<int32_t>(position[member])});
      segment->chains[member].push_back({.node = node});
      ++position[member];
      runnable.push_back(member);
      ++placed;
    }
    at.erase(key);
  }
  return placed == links;
}

void FillLinks(const std::vector<std::vector<Chain>>& steps, StepSegment* segment) {
  std::vector<double> own, opaque;
  for (size_t rank = 0; rank < segment->chains.size(); ++rank) {
    for (size_t i = 0; i < segment->chains[rank].size(); ++i) {
      own.clear();
      opaque.clear();
      for (const std::vector<Chain>& chains : steps) {
        own.push_back(Seconds(chains[rank][i].participation->own_ns));
        opaque.push_back(Seconds(chains[rank][i].participation->opaque_ns));
      }
      StepLink& link = segment->chains[rank][i];
      link.own_seconds = Median(&own);
      link.opaque_seconds = Median(&opaque);
      StepNode& node = segment->nodes[static_cast<size_t>(link.node)];
      if (!node.sequences.empty()) continue;
      for (const std::vector<Chain>& chains : steps) node.sequences.push_back(chains[rank][i].sequence);
    }
  }
}

void FillNodes(const OperationHistory& history, const std::vector<Communicator>& communicators, StepSegment* segment) {
  std::vector<double> transfers;
  for (StepNode& node : segment->nodes) {
    const auto size = static_cast<size_t>(communicators[static_cast<size_t>(node.communicator_slot)].size);
    transfers.clear();
    for (const uint64_t sequence : node.sequences) {
      const Participation* const parts = history.Participations(node.communicator_slot, sequence);
      int64_t least_ns = parts[0].duration_ns;
      for (size_t i = 1; i < size; ++i) least_ns = std::min(least_ns, parts[i].duration_ns);
      transfers.push_back(Seconds(std::max<int64_t>(0, least_ns)));
    }
    node.transfer_seconds = Median(&transfers);
    const Instance* const instance = history.Find(node.communicator_slot, node.sequences.back());
    node.kind = instance->kind;
    node.bytes = instance->bytes;
  }
}

// What the members of a role have in common: the same calls on communicators of the same size.
std::vector<uint64_t> RoleKey(const StepSegment& segment, const std::vector<Communicator>& communicators,
                              const std::vector<StepLink>& chain) {
  std::vector<uint64_t> key;
  key.reserve(chain.size() * 3);
  for (const StepLink& link : chain) {
    const StepNode& node = segment.nodes[static_cast<size_t>(link.node)];
    key.push_back(static_cast<uint64_t>(node.kind));
    key.push_back(node.bytes);
    key.push_back(static_cast<uint64_t>(communicators[static_cast<size_t>(node.communicator_slot)].size));
  }
  return key;
}

// Median of `sorted` without the element at `left_out`.
double MedianWithout(const std::vector<std::pair<double, size_t>>& sorted, size_t left_out) {
  const size_t n = sorted.size() - 1;
  const auto at = [&](size_t i) { return sorted[i < left_out ? i : i + 1].first; };
  return n % 2 == 1 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
}

void FillPeers(const std::vector<Communicator>& communicators, StepSegment* segment) {
  std::map<std::vector<uint64_t>, std::vector<size_t>> roles;
  for (size_t rank = 0; rank < segment->chains.size(); ++rank) {
    roles[RoleKey(*segment, communicators, segment->chains[rank])].push_back(rank);
  }
  std::vector<std::pair<double, size_t>> sorted;
  for (const auto& [key, ranks] : roles) {
    if (ranks.size() < kMinPeers + 1) continue;
    for (size_t i = 0; i < segment->chains[ranks.front()].size(); ++i) {
      sorted.clear();
      for (const size_t rank : ranks) sorted.emplace_back(segment->chains[rank][i].own_seconds, rank);
      std::sort(sorted.begin(), sorted.end());
      for (size_t place = 0; place < sorted.size(); ++place) {
        segment->chains[sorted[place].second][i].peer_seconds = MedianWithout(sorted, place);
      }
    }
  }
}

}  // namespace

std::optional<TypicalStep> FoldSteps(const OperationHistory& history, const std::vector<Communicator>& communicators,
                                     const BlockOfSteps& block) {
  const Communicator& anchor = communicators[static_cast<size_t>(block.anchor_slot)];
  const auto members = static_cast<size_t>(anchor.size);
  std::vector<std::vector<std::vector<Chain>>> segments(block.anchors_per_step);  // [segment][step][participant]
  TypicalStep typical;
  for (int step = 0; step < block.steps; ++step) {
    const uint64_t first = static_cast<uint64_t>(block.first_step + step) * block.anchors_per_step + 1;
    std::vector<std::vector<Chain>> found(block.anchors_per_step);
    bool usable = true;
    for (uint64_t i = 0; i < block.anchors_per_step && usable; ++i) {
      usable = CollectChains(history, block.anchor_slot, first + i, members, &found[i]) &&
               (segments[i].empty() || SameShape(segments[i].front(), found[i]));
    }
    if (!usable) {
      ++typical.steps_skipped;
      continue;
    }
    for (uint64_t i = 0; i < block.anchors_per_step; ++i) segments[i].push_back(std::move(found[i]));
    ++typical.steps_used;
  }
  if (typical.steps_used == 0 || typical.steps_used * 2 < block.steps) return std::nullopt;
  for (const std::vector<std::vector<Chain>>& steps : segments) {
    if (steps.front().empty()) continue;
    StepSegment& segment = typical.segments.emplace_back();
    if (!OrderNodes(steps.front(), &segment)) return std::nullopt;
    FillLinks(steps, &segment);
    FillNodes(history, communicators, &segment);
    FillPeers(communicators, &segment);
  }
  if (typical.segments.empty()) return std::nullopt;
  for (const Member& member : anchor.members) typical.rank_slots.push_back(member.rank_slot);
  return typical;
}

}  // namespace lockstep
