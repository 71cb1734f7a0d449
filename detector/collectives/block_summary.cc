#include "detector/collectives/block_summary.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "detector/collectives/lateness.h"

namespace lockstep {
namespace {

void SumOwn(const TypicalStep& typical, double step_seconds, BlockSummary* summary) {
  const size_t participants = typical.rank_slots.size();
  for (size_t rank = 0; rank < participants; ++rank) {
    double own = 0, peers = 0;
    bool comparable = true;
    for (const StepSegment& segment : typical.segments) {
      for (const StepLink& link : segment.chains[rank]) {
        own += link.own_seconds;
        peers += std::max(0.0, link.peer_seconds);
        comparable = comparable && link.peer_seconds >= 0;
      }
    }
    summary->own_seconds.push_back(static_cast<float>(own));
    summary->peer_seconds.push_back(comparable ? static_cast<float>(peers) : -1.0f);
    const double scale = std::max(peers, kOwnFloor * step_seconds);
    summary->relative_excess.push_back(comparable && scale > 0 ? static_cast<float>((own - peers) / scale) : 0.0f);
  }
}

BlockCulprit Describe(const TypicalStep& typical, const StepCulprit& found, const OperationHistory& history,
                      const std::vector<Communicator>& communicators) {
  const StepSegment& segment = typical.segments[static_cast<size_t>(found.segment)];
  const StepNode& node = segment.nodes[static_cast<size_t>(found.node)];
  BlockCulprit culprit;
  culprit.rank_slot = typical.rank_slots[static_cast<size_t>(found.participant)];
  culprit.saved_alone_seconds = found.saved_alone_seconds;
  culprit.saved_last_seconds = found.saved_last_seconds;
  culprit.communicator_slot = node.communicator_slot;
  culprit.kind = node.kind;
  culprit.at_anchor = static_cast<size_t>(found.node) + 1 == segment.nodes.size();
  const Communicator& communicator = communicators[static_cast<size_t>(node.communicator_slot)];
  std::vector<int64_t> waits;
  for (const uint64_t sequence : node.sequences) {
    const auto lateness = FindLateness(
        {history.Participations(node.communicator_slot, sequence), static_cast<size_t>(communicator.size)});
    if (!lateness.has_value()) continue;
    const Member& last = communicator.members[static_cast<size_t>(lateness->last_member)];
    if (last.rank_slot != culprit.rank_slot) continue;
    ++culprit.times_last;
    waits.push_back(lateness->median_wait_ns);
  }
  if (!waits.empty()) {
    const auto middle = waits.begin() + static_cast<int64_t>(waits.size() / 2);
    std::nth_element(waits.begin(), middle, waits.end());
    culprit.wait_seconds = static_cast<double>(*middle) / kNanosPerSecond;
  }
  if (culprit.at_anchor) return culprit;
  for (const Member& member : communicator.members) {
    if (member.rank_slot < 0 || member.rank_slot == culprit.rank_slot) continue;
    if (culprit.relays.size() < kMaxRelays) culprit.relays.push_back(member.rank_slot);
  }
  return culprit;
}

}  // namespace

BlockSummary SummarizeBlock(const TypicalStep& typical, const StepSearch& search, const OperationHistory& history,
                            const std::vector<Communicator>& communicators, const BlockOfSteps& block) {
  BlockSummary summary;
  summary.first_step = block.first_step;
  summary.last_step = block.first_step + block.steps - 1;
  summary.steps_used = typical.steps_used;
  summary.step_seconds = search.step_seconds;
  summary.healed_seconds = search.healed_seconds;
  summary.rank_slots = typical.rank_slots;
  SumOwn(typical, search.step_seconds, &summary);
  for (const StepCulprit& found : search.culprits) {
    summary.culprits.push_back(Describe(typical, found, history, communicators));
  }
  return summary;
}

}  // namespace lockstep
