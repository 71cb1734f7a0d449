#include "detector/hang/stuck_operation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/hang/call_mismatch.h"
#include "detector/hang/member_numbers.h"
#include "detector/hang/stopped_calling.h"
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
// GPUs from it, or may, in a communicator of which nobody knows for whom it waits there.
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
    const auto rank = static_cast<size_t>(blocked.at[i]);
    if (HasBegunAny(frontier, rank) || frontier.IsExcused(rank)) return std::nullopt;
    queued.push_back(blocked.at[i]);
  }
  if (!begun) queued.clear();
  return queued;
}

// The members of which it is not known whether they have entered.
class Unrecorded {
 public:
  explicit Unrecorded(const Frontier& frontier) : frontier_(frontier) {}

  void Add(const BlockedOperation& blocked) {
    members_ += MembersOf(frontier_, blocked).size();
    absent_ += blocked.unrecorded.size();
    blind_ += blocked.blind.size();
    if (blocked.unrecorded.empty() && blocked.blind.empty()) return;
    const std::vector<int32_t> numbers = MemberNumbers(frontier_.trace(), blocked.communicator);
    for (const int32_t member : blocked.unrecorded) {
      if (const int32_t number = numbers[static_cast<size_t>(member)]; number >= 0) absent_ranks_.insert(number);
    }
    for (const int32_t member : blocked.blind) {
      const int32_t number = numbers[static_cast<size_t>(member)];
      if (number >= 0) blind_ranks_.insert(number);
      nameless_ += number < 0 ? 1 : 0;
      silent_ = silent_ || !IsKnown(number);
    }
  }

  // Some left no record where nothing proves that they took part before: their silence is a sign.
  bool any_absent() const { return absent_ > 0; }
  void NameAbsentIn(Hang* hang) const { hang->unrecorded.assign(absent_ranks_.begin(), absent_ranks_.end()); }

  // So many blind members, or such that leave no records elsewhere either, may well hold it. Of a few that do, each is
  // as likely to be it as any other member.
  bool any_doubtful() const { return silent_ || static_cast<double>(blind_) > kFew * static_cast<double>(members_); }
  void NameBlindIn(Hang* hang) const {
    hang->unrecorded.assign(blind_ranks_.begin(), blind_ranks_.end());
    hang->more_unrecorded = nameless_;
  }

 private:
  bool IsKnown(int32_t number) const {
    const std::vector<TraceRank>& ranks = frontier_.trace().ranks;
    const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const TraceRank& r) { return r.rank == number; });
    return found != ranks.end() && frontier_.IsKnown(static_cast<size_t>(found - ranks.begin()));
  }

  const Frontier& frontier_;
  std::set<int32_t> absent_ranks_, blind_ranks_;  // their numbers
  uint64_t nameless_ = 0;                         // blind ones, of which the number is not known
  size_t members_ = 0, absent_ = 0, blind_ = 0;
  bool silent_ = false;
};

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
  Unrecorded unrecorded(frontier);
  bool all_known = true;
  for (const int32_t node : nodes) {
    if (!graph.IsBlocked(node)) continue;
    if (IsPassing(frontier, graph.At(node))) return std::nullopt;
    all_known = all_known && !graph.At(node).unjudged;
    AddInside(frontier, graph.At(node), &inside);
    unrecorded.Add(graph.At(node));
  }
  // Whoever is not heard of may be the cause, unless a GPU shows that it has not begun.
  if (!all_known) {
    const std::optional<std::vector<int32_t>> not_begun = NotBegun(frontier, blocked);
    if (!not_begun.has_value() || not_begun->empty()) return std::nullopt;
    NameNotBegun(*not_begun, &hang);
    return hang;
  }
  if (unrecorded.any_absent()) {
    hang.kind = HangKind::kNotEntered;
    unrecorded.NameAbsentIn(&hang);
    if (hang.unrecorded.empty()) hang.unrecorded = frontier.trace().missing_ranks;  // one of these
    return hang;
  }
  // Progress and operations contradict each other: nobody is stuck for sure.
  if (inside.empty()) return std::nullopt;
  hang.ranks.assign(inside.begin(), inside.end());
  if (!Narrow(frontier, blocked, &hang)) return std::nullopt;
  if (hang.kind != HangKind::kTransfer) return hang;
  DoubtTransfer(frontier, blocked, &hang);
  if (unrecorded.any_doubtful()) {
    unrecorded.NameBlindIn(&hang);
    hang.doubt = Doubt::kGaps;
  }
  return hang;
}

void DoubtTransfer(const Frontier& frontier, const BlockedOperation& blocked, Hang* hang) {
  if (frontier.watch() != nullptr || !blocked.collective()) return;
  for (size_t i = 0; i < blocked.at.size(); ++i) {
    const TraceOperation& operation = OperationAt(frontier, blocked, i);
    const bool begun = operation.started() && frontier.TellsBegun(static_cast<size_t>(blocked.at[i]));
    hang->begins_seen = hang->begins_seen && begun;
    hang->sizes_known = hang->sizes_known && (operation.bytes > 0 || !NeedsSameBytes(operation.kind));
  }
  if (!hang->begins_seen) hang->doubt = Doubt::kGaps;
}

}  // namespace lockstep
