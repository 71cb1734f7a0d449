#include "detector/hang/stuck_operation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/hang/unrecorded_ranks.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

const TraceOperation& OperationAt(const Frontier& frontier, const Standing& standing, size_t i) {
  return frontier.trace().operations[standing.operations[i]];
}

const std::vector<int32_t>& MembersOf(const Frontier& frontier, const Standing& standing) {
  return frontier.trace().communicators[static_cast<size_t>(standing.communicator)].members;
}

// The members that have not finished it.
void AddInside(const Frontier& frontier, const Standing& standing, std::set<int32_t>* inside) {
  const std::vector<int32_t>& members = MembersOf(frontier, standing);
  for (size_t m = 0; m < members.size(); ++m) {
    const auto member = static_cast<int32_t>(m);
    if (members[m] < 0) continue;
    const bool takes_part = standing.collective() ? frontier.Of(standing.communicator, member).finished <
                                                        static_cast<int64_t>(standing.sequence)
                                                  : member == standing.source || member == standing.destination;
    if (takes_part) inside->insert(members[m]);
  }
}

// In a watched job: the last to come has not been here for long, or the first have just left.
bool IsPassing(const Frontier& frontier, const Standing& standing) {
  for (size_t i = 0; i < standing.at.size(); ++i) {
    const auto rank = static_cast<size_t>(standing.at[i]);
    if (!frontier.IsStuckIn(rank, OperationAt(frontier, standing, i))) return true;
  }
  if (frontier.watch() == nullptr || !standing.collective() || !IsSynchronous(standing.kind)) return false;
  const std::vector<int32_t>& members = MembersOf(frontier, standing);
  for (size_t m = 0; m < members.size(); ++m) {
    const int64_t finished = frontier.Of(standing.communicator, static_cast<int32_t>(m)).finished;
    if (finished >= static_cast<int64_t>(standing.sequence)) return true;
  }
  return false;
}

bool HasBegunAny(const Frontier& frontier, size_t rank) {
  const absl::Span<const size_t> open = frontier.OpenOf(rank);
  return std::any_of(open.begin(), open.end(),
                     [&](size_t index) { return frontier.trace().operations[index].started(); });
}

// Of those inside: whose process cannot move, or else whose GPU has not begun what its host called, while others'
// have. False = what keeps a GPU from beginning is another operation, which is judged by itself.
bool Narrow(const Frontier& frontier, const Standing& standing, Hang* hang) {
  std::vector<int32_t> halted, queued;
  std::copy_if(hang->ranks.begin(), hang->ranks.end(), std::back_inserter(halted), [&](int32_t rank) {
    const TraceRank& who = frontier.trace().ranks[static_cast<size_t>(rank)];
    return IsGone(who) || who.process_state == ProcessState::kUninterruptible;
  });
  if (!halted.empty()) {
    hang->kind = HangKind::kHalted;
    hang->ranks = std::move(halted);
    return true;
  }
  if (frontier.watch() == nullptr) return true;  // in records, who has not begun does not stand there
  bool begun = false;
  for (size_t i = 0; i < standing.at.size(); ++i) {
    const TraceOperation& operation = OperationAt(frontier, standing, i);
    begun = begun || operation.started();
    if (operation.started() || operation.quality == TimingQuality::kHostEnqueue) continue;
    if (HasBegunAny(frontier, static_cast<size_t>(standing.at[i]))) return false;
    queued.push_back(standing.at[i]);
  }
  if (!begun || queued.empty()) return true;  // where nobody is seen to begin, the recorder cannot tell
  hang->kind = HangKind::kNotEntered;
  hang->called = true;
  hang->ranks = std::move(queued);
  return true;
}

}  // namespace

std::optional<Hang> StuckOperation(const Frontier& frontier, const WaitGraph& graph,
                                   const std::vector<int32_t>& nodes) {
  const auto first = std::find_if(nodes.begin(), nodes.end(), [&](int32_t node) { return graph.IsStanding(node); });
  const Standing& standing = graph.At(*first);
  if (standing.finished_by_some && standing.collective()) return std::nullopt;
  Hang hang = HangAt(HangKind::kTransfer, frontier.trace(), standing);
  std::set<int32_t> inside;
  for (const int32_t node : nodes) {
    if (!graph.IsStanding(node)) continue;
    if (graph.At(node).unjudged || IsPassing(frontier, graph.At(node))) return std::nullopt;
    AddInside(frontier, graph.At(node), &inside);
    AddUnrecorded(frontier.trace(), graph.At(node), &hang.unrecorded);
  }
  if (!hang.unrecorded.empty()) {
    hang.kind = HangKind::kNotEntered;
    return hang;
  }
  // Progress and operations contradict each other: nobody is stuck for sure.
  if (inside.empty()) return std::nullopt;
  hang.ranks.assign(inside.begin(), inside.end());
  if (!Narrow(frontier, standing, &hang)) return std::nullopt;
  return hang;
}

}  // namespace lockstep
