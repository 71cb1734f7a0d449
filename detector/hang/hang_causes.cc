#include "detector/hang/hang_causes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/hang/artefact_causes.h"
#include "detector/hang/rank_causes.h"
#include "detector/hang/strong_components.h"
#include "detector/hang/stuck_operation.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// Bounds the walk; beyond that, all ranks of the cycle are listed.
constexpr size_t kMaxCycleOperations = 64;

std::vector<int32_t> MembersIn(const Frontier& frontier, const std::vector<int32_t>& ranks,
                               const BlockedOperation& blocked) {
  std::vector<int32_t> members;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(members),
               [&](int32_t rank) { return frontier.MemberOf(static_cast<size_t>(rank), blocked.communicator) >= 0; });
  return members;
}

// The ranks of a cycle that differ: of the ranks that take part in two of its operations, those that stand at the one
// while most stand at the other. Where there are as many of either, both.
Hang DeadlockOf(const Frontier& frontier, const WaitGraph& graph, const std::vector<int32_t>& nodes) {
  std::map<int32_t, std::vector<int32_t>> parties;  // ranks of the cycle by the operation at which they stand
  for (const int32_t node : nodes) {
    if (graph.IsBlocked(node)) continue;
    for (const int32_t next : graph.edges[static_cast<size_t>(node)]) {
      if (std::binary_search(nodes.begin(), nodes.end(), next)) parties[next].push_back(node);
    }
  }
  std::set<int32_t> differing;
  for (auto a = parties.begin(); a != parties.end(); ++a) {
    for (auto b = std::next(a); b != parties.end() && parties.size() <= kMaxCycleOperations; ++b) {
      const std::vector<int32_t> at_a = MembersIn(frontier, a->second, graph.At(b->first));
      const std::vector<int32_t> at_b = MembersIn(frontier, b->second, graph.At(a->first));
      if (at_a.empty() || at_b.empty()) continue;
      if (at_a.size() <= at_b.size()) differing.insert(at_a.begin(), at_a.end());
      if (at_b.size() <= at_a.size()) differing.insert(at_b.begin(), at_b.end());
    }
  }
  const auto told = std::min_element(parties.begin(), parties.end(), [&](const auto& a, const auto& b) {
    return ToldBefore(HangAt(HangKind::kDeadlock, frontier.trace(), graph.At(a.first)),
                      HangAt(HangKind::kDeadlock, frontier.trace(), graph.At(b.first)));
  });
  Hang hang = HangAt(HangKind::kDeadlock, frontier.trace(), graph.At(told->first));
  hang.ranks.assign(differing.begin(), differing.end());
  if (hang.ranks.empty()) {
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(hang.ranks),
                 [&](int32_t node) { return !graph.IsBlocked(node); });
  }
  return hang;
}

// Only ranks that left no record show as its cause.
bool IsUnrecorded(const Hang& hang) {
  return hang.ranks.empty() ? hang.kind == HangKind::kNotEntered : !hang.unrecorded.empty() || hang.more_unrecorded > 0;
}

class Collector {
 public:
  Collector(const Frontier& frontier, const WaitGraph& graph, const std::vector<std::vector<int32_t>>& waited_for,
            bool artefacts_likely)
      : frontier_(frontier),
        trace_(frontier.trace()),
        graph_(graph),
        waited_for_(waited_for),
        artefacts_likely_(artefacts_likely),
        ranks_(trace_.ranks.size()) {}

  std::vector<Hang> Run() {
    RankCauses of_ranks = FindRankCauses(frontier_, graph_);
    hangs_ = std::move(of_ranks.hangs);
    CollectOtherCauses();
    for (const BlockedOperation& blocked : graph_.blocked_operations) AddMismatch(blocked);
    AddLeakyCycles();
    LeaveExplainedTransfers();
    MergeTransfers();
    AddUncalled(std::move(of_ranks.uncalled));
    LeaveUnrecorded();
    return std::move(hangs_);
  }

 private:
  // Operations that nobody is missing from, and cycles.
  void CollectOtherCauses() {
    const StrongComponents components = FindStrongComponents(graph_.edges);
    for (size_t component = 0; component < components.nodes.size(); ++component) {
      const std::vector<int32_t>& nodes = components.nodes[component];
      if (!graph_.IsBlocked(nodes.back())) continue;
      // Ranks of a cycle that also wait for somebody outside may call what is missing once he has come: no deadlock.
      const bool sink = components.sink[component] != 0;
      if (!sink && (!artefacts_likely_ || nodes.size() == 1)) continue;
      if (Differs(nodes)) continue;
      const bool cycle = IsCycle(nodes);
      const std::vector<int32_t> lost = cycle ? WithLostRecords(nodes) : std::vector<int32_t>{};
      if (cycle && lost.size() != 1) {
        (sink ? hangs_ : leaky_cycles_).push_back(DeadlockOf(frontier_, graph_, nodes));
      } else if (sink) {
        // A cycle that a lost record alone closes is none.
        std::optional<Hang> stuck = StuckOperation(frontier_, graph_, cycle ? lost : nodes);
        // Else only ranks stand here that are stuck for another reason.
        const auto first = std::find_if(nodes.begin(), nodes.end(), [&](int32_t n) { return graph_.IsBlocked(n); });
        if (stuck.has_value() && !waited_for_[static_cast<size_t>(*first)].empty()) hangs_.push_back(std::move(*stuck));
      }
    }
  }

  // A missing-record artefact is a way out of any cycle. Where no cause is found that losses do not show by themselves,
  // the cycle may be it. What a watched job has in flight in another order than it was called makes cycles as well.
  void AddLeakyCycles() {
    if (frontier_.watch() != nullptr) return;
    const auto shown_by_losses = [this](const Hang& hang) { return LossExplains(frontier_, hang); };
    if (!std::all_of(hangs_.begin(), hangs_.end(), shown_by_losses)) return;
    std::move(leaky_cycles_.begin(), leaky_cycles_.end(), std::back_inserter(hangs_));
  }

  const std::vector<MemberState>& StatesOf(int32_t node) const {
    return graph_.member_states[static_cast<size_t>(node) - ranks_];
  }

  bool Differs(const std::vector<int32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](int32_t node) { return graph_.IsBlocked(node) && !graph_.At(node).differing.empty(); });
  }

  bool IsCycle(const std::vector<int32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int32_t node) {
      if (!graph_.IsBlocked(node)) return false;
      return std::any_of(StatesOf(node).begin(), StatesOf(node).end(),
                         [](MemberState state) { return state != MemberState::kQueued; });
    });
  }

  bool HasRecord(int32_t rank, const BlockedOperation& blocked) const {
    const absl::Span<const size_t> open = frontier_.OpenOf(static_cast<size_t>(rank));
    const int32_t member = frontier_.MemberOf(static_cast<size_t>(rank), blocked.communicator);
    return std::any_of(open.begin(), open.end(), [&](size_t index) {
      const TraceOperation& operation = trace_.operations[index];
      if (operation.communicator != blocked.communicator || operation.sequence != blocked.sequence) return false;
      if (blocked.collective()) return !IsPointToPoint(operation.kind);
      const bool sends = operation.kind == OperationKind::kSend;
      return member == (sends ? blocked.source : blocked.destination) &&
             operation.peer == (sends ? blocked.destination : blocked.source);
    });
  }

  // Operations of which a member that has called others since left no record. It may as well stand there.
  std::vector<int32_t> WithLostRecords(const std::vector<int32_t>& nodes) const {
    std::vector<int32_t> found;
    for (const int32_t node : nodes) {
      if (frontier_.watch() != nullptr || frontier_.open_left_out() > 0 || !graph_.IsBlocked(node)) continue;
      const std::vector<int32_t>& missing = graph_.edges[static_cast<size_t>(node)];
      for (size_t i = 0; i < missing.size(); ++i) {
        if (StatesOf(node)[i] == MemberState::kNotCalled || HasRecord(missing[i], graph_.At(node))) continue;
        found.push_back(node);
        break;
      }
    }
    return found;
  }

  void AddMismatch(const BlockedOperation& blocked) {
    if (blocked.differing.empty()) return;
    Hang hang = HangAt(HangKind::kMismatch, trace_, blocked);
    hang.ranks = blocked.differing;
    if (blocked.usual_tuning.has_value()) hang.tuning = *blocked.usual_tuning;
    hang.other_tuning = blocked.other_tuning;
    hangs_.push_back(std::move(hang));
  }

  // A rank that is a cause by itself moves no data either: transfers in which it takes part are its victims.
  void LeaveExplainedTransfers() {
    std::set<int32_t> culprits;
    for (const Hang& hang : hangs_) {
      const bool of_ranks = hang.kind != HangKind::kTransfer && hang.kind != HangKind::kDeadlock;
      if (of_ranks) culprits.insert(hang.ranks.begin(), hang.ranks.end());
    }
    std::erase_if(hangs_, [&](const Hang& hang) {
      return hang.kind == HangKind::kTransfer &&
             std::any_of(hang.ranks.begin(), hang.ranks.end(), [&](int32_t rank) { return culprits.contains(rank); });
    });
  }

  // Several stuck transfers that share a rank have one cause: what they share. One rank alone, whose recorder was
  // looked at and has nothing in flight of all this, has stopped: its records end where its process did.
  void MergeTransfers() {
    std::vector<size_t> transfers;
    std::map<int32_t, size_t> in;
    for (size_t h = 0; h < hangs_.size(); ++h) {
      if (hangs_[h].kind != HangKind::kTransfer) continue;
      transfers.push_back(h);
      for (const int32_t rank : hangs_[h].ranks) ++in[rank];
    }
    std::vector<int32_t> shared;
    for (const auto& [rank, count] : in) {
      if (count == transfers.size()) shared.push_back(rank);
    }
    if (transfers.size() < 2) return;
    if (shared.empty()) {
      // No single GPU that has not begun holds all of them.
      for (const size_t h : transfers) {
        if (!IsUnrecorded(hangs_[h])) hangs_[h].doubt = Doubt::kNone;
      }
      return;
    }
    const auto told = std::min_element(transfers.begin(), transfers.end(),
                                       [&](size_t a, size_t b) { return ToldBefore(hangs_[a], hangs_[b]); });
    if (told != transfers.begin()) std::swap(hangs_[transfers[0]], hangs_[*told]);
    const bool stopped = shared.size() == 1 && frontier_.CutShort(static_cast<size_t>(shared.front()));
    if (stopped) hangs_[transfers[0]].kind = HangKind::kStopped;
    // Of several groups that one rank or a few share, these hold them, whether they have begun or not.
    const bool fewer = shared.size() < hangs_[transfers[0]].ranks.size();
    if (fewer && !IsUnrecorded(hangs_[transfers[0]])) hangs_[transfers[0]].doubt = Doubt::kNone;
    hangs_[transfers[0]].ranks = std::move(shared);
    for (size_t i = transfers.size(); i-- > 1;) {
      hangs_.erase(hangs_.begin() + static_cast<std::ptrdiff_t>(transfers[i]));
    }
  }

  // A GPU that has begun nothing of what its host called, where nothing else is a cause and no loss of the call that
  // others wait for explains it.
  void AddUncalled(std::vector<Hang> uncalled) {
    if (!std::all_of(hangs_.begin(), hangs_.end(), IsUnrecorded)) return;
    std::sort(uncalled.begin(), uncalled.end(),
              [](const Hang& a, const Hang& b) { return a.ranks != b.ranks ? a.ranks < b.ranks : ToldBefore(a, b); });
    for (size_t i = 0; i < uncalled.size(); ++i) {
      const bool told = i > 0 && uncalled[i].ranks == uncalled[i - 1].ranks;
      if (!told && !LossExplains(frontier_, uncalled[i])) hangs_.push_back(uncalled[i]);
    }
  }

  // Ranks that left no record may themselves wait for a cause that is known.
  void LeaveUnrecorded() {
    if (std::all_of(hangs_.begin(), hangs_.end(), IsUnrecorded)) return;
    std::erase_if(hangs_, IsUnrecorded);
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const WaitGraph& graph_;
  const std::vector<std::vector<int32_t>>& waited_for_;
  const bool artefacts_likely_;
  const size_t ranks_;
  std::vector<Hang> hangs_;
  std::vector<Hang> leaky_cycles_;  // deadlocks, if what leads out of them is an artefact
};

}  // namespace

std::vector<Hang> CollectCauses(const Frontier& frontier, const WaitGraph& graph,
                                const std::vector<std::vector<int32_t>>& waited_for, bool artefacts_likely) {
  return Collector(frontier, graph, waited_for, artefacts_likely).Run();
}

}  // namespace lockstep
