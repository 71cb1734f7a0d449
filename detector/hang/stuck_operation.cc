#include "detector/hang/stuck_operation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/hang/stopped_calling.h"
#include "detector/hang/unrecorded_ranks.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

const TraceOperation& OperationAt(const Frontier& frontier, const BlockedOperation& blocked, size_t i) {
  return frontier.trace().operations[blocked.operations[i]];
}

const std::vector<int32_t>& MembersOf(const Frontier& frontier, const BlockedOperation& blocked) {
  return frontier.trace().communicators[static_cast<size_t>(blocked.communicator)].members;
}

// The members that have not finished it.
void AddInside(const Frontier& frontier, const BlockedOperation& blocked, std::set<int32_t>* inside) {
  const std::vector<int32_t>& members = MembersOf(frontier, blocked);
  for (size_t m = 0; m < members.size(); ++m) {
    const auto member = static_cast<int32_t>(m);
    if (members[m] < 0) continue;
    const bool takes_part = blocked.collective() ? frontier.Of(blocked.communicator, member).finished <
                                                       static_cast<int64_t>(blocked.sequence)
                                                 : member == blocked.source || member == blocked.destination;
    if (takes_part) inside->insert(members[m]);
  }
}

// In a watched job: the last to come has not been here for long, or the first have just left.
bool IsPassing(const Frontier& frontier, const BlockedOperation& blocked) {
  for (size_t i = 0; i < blocked.at.size(); ++i) {
    const auto rank = static_cast<size_t>(blocked.at[i]);
    if (!frontier.IsStuckIn(rank, OperationAt(frontier, blocked, i))) return true;
  }
  if (frontier.watch() == nullptr || !blocked.collective() || !IsSynchronous(blocked.kind)) return false;
  const std::vector<int32_t>& members = MembersOf(frontier, blocked);
  for (size_t m = 0; m < members.size(); ++m) {
    const int64_t finished = frontier.Of(blocked.communicator, static_cast<int32_t>(m)).finished;
    if (finished >= static_cast<int64_t>(blocked.sequence)) return true;
  }
  return false;
}

bool HasBegunAny(const Frontier& frontier, size_t rank) {
  const absl::Span<const size_t> open = frontier.OpenOf(rank);
  return std::any_of(open.begin(), open.end(),
                     [&](size_t index) { return frontier.trace().operations[index].started(); });
}

// Ranks whose processes cannot move.
std::vector<int32_t> Halted(const Trace& trace, const std::vector<int32_t>& ranks) {
  std::vector<int32_t> halted;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(halted), [&](int32_t rank) {
    const TraceRank& who = trace.ranks[static_cast<size_t>(rank)];
    return IsGone(who) || who.process_state == ProcessState::kUninterruptible;
  });
  return halted;
}

// Ranks whose hosts have called the operation and whose GPUs have not begun it, while others' have. Empty where no
// begin is seen, and of records, where such a rank does not stand here. nullopt = another operation keeps one of the
// GPUs from it.
std::optional<std::vector<int32_t>> NotBegun(const Frontier& frontier, const BlockedOperation& blocked) {
  std::vector<int32_t> queued;
  if (frontier.watch() == nullptr) return queued;
  bool begun = false;
  for (size_t i = 0; i < blocked.at.size(); ++i) {
    const TraceOperation& operation = OperationAt(frontier, blocked, i);
    begun = begun || operation.started();
    // Of what has not begun, a recorder that sees begins knows the call alone, as one does that sees none.
    const bool may_have_begun = operation.quality == TimingQuality::kHostEnqueue &&
                                frontier.watch()->sees_begins[static_cast<size_t>(blocked.at[i])] == 0;
    if (operation.started() || may_have_begun) continue;
    if (HasBegunAny(frontier, static_cast<size_t>(blocked.at[i]))) return std::nullopt;
    queued.push_back(blocked.at[i]);
  }
  if (!begun) queued.clear();
  return queued;
}

void NameNotBegun(std::vector<int32_t> ranks, Hang* hang) {
  hang->kind = HangKind::kNotEntered;
  hang->called = true;
  hang->ranks = std::move(ranks);
}

// The hang is about those inside whose process cannot move, else about GPUs that have not begun, else about hosts that
// stopped calling first. False = another operation, judged by itself, keeps a GPU from beginning.
bool Narrow(const Frontier& frontier, const BlockedOperation& blocked, Hang* hang) {
  const std::vector<int32_t> halted = Halted(frontier.trace(), hang->ranks);
  const std::optional<std::vector<int32_t>> not_begun = NotBegun(frontier, blocked);
  const std::vector<int32_t> stopped =
      blocked.collective() ? StoppedCalling(frontier, blocked.communicator) : std::vector<int32_t>{};
  if (!halted.empty()) {
    hang->kind = HangKind::kHalted;
    hang->ranks = halted;
  } else if (!not_begun.has_value()) {
    return false;
  } else if (!not_begun->empty()) {
    NameNotBegun(*not_begun, hang);
  } else if (!stopped.empty()) {
    hang->kind = HangKind::kStopped;
    hang->ranks = stopped;
  }
  return true;
}

}  // namespace

std::optional<Hang> StuckOperation(const Frontier& frontier, const WaitGraph& graph,
                                   const std::vector<int32_t>& nodes) {
  const auto first = std::find_if(nodes.begin(), nodes.end(), [&](int32_t node) { return graph.IsBlocked(node); });
  const BlockedOperation& blocked = graph.At(*first);
  if (blocked.finished_by_some && blocked.collective()) return std::nullopt;
  Hang hang = HangAt(HangKind::kTransfer, frontier.trace(), blocked);
  std::set<int32_t> inside;
  bool all_recorded = true, all_known = true;
  for (const int32_t node : nodes) {
    if (!graph.IsBlocked(node)) continue;
    if (IsPassing(frontier, graph.At(node))) return std::nullopt;
    all_known = all_known && !graph.At(node).unjudged;
    AddInside(frontier, graph.At(node), &inside);
    AddUnrecorded(frontier.trace(), graph.At(node), &hang.unrecorded);
    all_recorded = all_recorded && graph.At(node).unrecorded.empty();
  }
  // Whoever is not heard of may be the cause, unless a GPU shows that it has not begun.
  if (!all_known) {
    const std::optional<std::vector<int32_t>> not_begun = NotBegun(frontier, blocked);
    if (!not_begun.has_value() || not_begun->empty()) return std::nullopt;
    NameNotBegun(*not_begun, &hang);
    return hang;
  }
  if (!all_recorded) {
    hang.kind = HangKind::kNotEntered;
    if (hang.unrecorded.empty()) hang.unrecorded = frontier.trace().missing_ranks;  // one of these
    return hang;
  }
  // Progress and operations contradict each other: nobody is stuck for sure.
  if (inside.empty()) return std::nullopt;
  hang.ranks.assign(inside.begin(), inside.end());
  if (!Narrow(frontier, blocked, &hang)) return std::nullopt;
  return hang;
}

}  // namespace lockstep
