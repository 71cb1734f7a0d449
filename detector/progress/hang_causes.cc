#include "detector/progress/hang_causes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/operation_kind.h"
#include "detector/progress/strong_components.h"
#include "detector/progress/unrecorded_ranks.h"

namespace lockstep {
namespace {

constexpr size_t kMaxCycleOperations = 64;  // beyond that, all ranks of the cycle are listed

class Collector {
 public:
  Collector(const Frontier& frontier, const WaitGraph& graph, const std::vector<std::vector<int32_t>>& waited_for,
            WaitTrust trust)
      : frontier_(frontier),
        trace_(frontier.trace()),
        graph_(graph),
        waited_for_(waited_for),
        trust_(trust),
        ranks_(trace_.ranks.size()) {}

  std::vector<Hang> Run() {
    CollectRankCauses();
    CollectOtherCauses();
    for (const Standing& standing : graph_.standings) AddMismatch(standing);
    MergeTransfers();
    return std::move(hangs_);
  }

 private:
  const std::vector<int32_t>& MembersOf(const Standing& standing) const {
    return trace_.communicators[static_cast<size_t>(standing.communicator)].members;
  }

  Hang At(HangKind kind, const Standing& standing) const {
    return {.kind = kind,
            .communicator = standing.communicator,
            .sequence = standing.sequence,
            .operation = standing.kind,
            .tuning = trace_.operations[standing.operations.front()].tuning,
            .waiting = static_cast<int32_t>(standing.at.size())};
  }

  bool HasNoWayOut(size_t rank) const { return graph_.edges[rank].empty() && graph_.place_lost[rank] == 0; }

  // Ranks that are waited for, or left behind, and wait for nobody. Those that one operation waits for together are one
  // cause with several culprits.
  void CollectRankCauses() {
    std::vector<int32_t> cause(ranks_, -1);  // the cause of each rank, an index into `causes`
    std::vector<Hang> causes;
    const auto add = [&](size_t rank, const Standing& standing, HangKind kind, bool called) {
      causes.push_back(At(kind, standing));
      causes.back().called = called;
      cause[rank] = static_cast<int32_t>(causes.size()) - 1;
    };
    for (size_t s = 0; s < graph_.standings.size(); ++s) {
      int32_t shared = -1;
      const std::vector<int32_t>& blockers = graph_.edges[ranks_ + s];
      for (size_t i = 0; i < blockers.size(); ++i) {
        const auto rank = static_cast<size_t>(blockers[i]);
        if (!HasNoWayOut(rank)) continue;
        // Called behind what it alone does not finish: the operation says nothing new.
        if (graph_.member_states[s][i] == MemberState::kQueued) continue;
        const bool called = graph_.member_states[s][i] == MemberState::kNotBegun;
        // Its host has called other things that its GPU has not begun: the record of this call may be lost.
        if (frontier_.lost_share() > 0 && !called && graph_.not_begun[rank] != 0) continue;
        if (cause[rank] < 0 && shared < 0) add(rank, graph_.standings[s], HangKind::kNotEntered, called);
        if (cause[rank] < 0) cause[rank] = shared;
        if (shared >= 0 && shared != cause[rank]) std::replace(cause.begin(), cause.end(), shared, cause[rank]);
        shared = cause[rank];
      }
    }
    for (size_t s = 0; s < graph_.standings.size(); ++s) {
      const Standing& standing = graph_.standings[s];
      if (!standing.finished_by_some || !standing.collective() || standing.passing) continue;
      const bool few = 2 * standing.at.size() <= MembersOf(standing).size();
      int32_t shared = -1;
      for (const int32_t slot : standing.at) {
        const auto rank = static_cast<size_t>(slot);
        if (cause[rank] >= 0 || graph_.left_behind[rank] == 0) continue;
        if (shared < 0) add(rank, standing, few ? HangKind::kNotFinished : HangKind::kTransfer, false);
        if (shared < 0) shared = cause[rank];
        cause[rank] = shared;
      }
    }
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (cause[rank] >= 0) causes[static_cast<size_t>(cause[rank])].ranks.push_back(static_cast<int32_t>(rank));
    }
    for (Hang& hang : causes) {
      if (!hang.ranks.empty()) hangs_.push_back(std::move(hang));
    }
  }

  // Operations that nobody is missing from, and cycles.
  void CollectOtherCauses() {
    const StrongComponents components = FindStrongComponents(graph_.edges);
    for (size_t component = 0; component < components.nodes.size(); ++component) {
      const std::vector<int32_t>& nodes = components.nodes[component];
      if (!graph_.IsStanding(nodes.back())) continue;
      // A ghost in a cycle is a way out of it.
      const bool sink = components.sink[component] != 0;
      if (!sink && nodes.size() > 1 && trust_.long_only) AddCyclesWithin(nodes);
      if (!sink && (!trust_.ghosts_likely || nodes.size() == 1)) continue;
      if (Differs(nodes)) continue;
      if (IsCycle(nodes)) {
        AddDeadlock(nodes);
      } else if (sink) {
        AddStuck(nodes);
      }
    }
  }

  // Of ranks that also wait for somebody outside: cycles of calls that are known to be missing.
  void AddCyclesWithin(const std::vector<int32_t>& nodes) {
    std::vector<std::vector<int32_t>> edges(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<int32_t>& all = graph_.edges[static_cast<size_t>(nodes[i])];
      for (size_t e = 0; e < all.size(); ++e) {
        const auto to = std::lower_bound(nodes.begin(), nodes.end(), all[e]);
        if (to == nodes.end() || *to != all[e]) continue;
        if (graph_.IsStanding(nodes[i]) && StatesOf(nodes[i])[e] == MemberState::kQueued) continue;
        edges[i].push_back(static_cast<int32_t>(to - nodes.begin()));
      }
    }
    for (const std::vector<int32_t>& within : FindStrongComponents(edges).nodes) {
      if (within.size() < 2) continue;
      std::vector<int32_t> cycle;
      for (const int32_t i : within) cycle.push_back(nodes[static_cast<size_t>(i)]);
      if (!Differs(cycle)) AddDeadlock(cycle);
    }
  }

  const std::vector<MemberState>& StatesOf(int32_t node) const {
    return graph_.member_states[static_cast<size_t>(node) - ranks_];
  }

  bool Differs(const std::vector<int32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](int32_t node) { return graph_.IsStanding(node) && !graph_.At(node).differing.empty(); });
  }

  bool IsCycle(const std::vector<int32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int32_t node) {
      if (!graph_.IsStanding(node)) return false;
      return std::any_of(StatesOf(node).begin(), StatesOf(node).end(),
                         [](MemberState state) { return state != MemberState::kQueued; });
    });
  }

  void AddStuck(const std::vector<int32_t>& nodes) {
    const auto first = std::find_if(nodes.begin(), nodes.end(), [&](int32_t n) { return graph_.IsStanding(n); });
    const Standing& standing = graph_.At(*first);
    // Only ranks stand here that are stuck for another reason.
    if (waited_for_[static_cast<size_t>(*first)].empty()) return;
    if (standing.finished_by_some && standing.collective()) return;
    Hang hang = At(HangKind::kTransfer, standing);
    std::set<int32_t> inside;
    for (const int32_t node : nodes) {
      if (!graph_.IsStanding(node)) continue;
      if (graph_.At(node).unjudged || IsPassing(graph_.At(node))) return;
      AddInside(graph_.At(node), &inside);
      AddUnrecorded(trace_, graph_.At(node), &hang.unrecorded);
    }
    if (!hang.unrecorded.empty()) {
      hang.kind = HangKind::kNotEntered;
      hangs_.push_back(std::move(hang));
      return;
    }
    // Progress and operations contradict each other: nobody is stuck for sure.
    if (inside.empty()) return;
    hang.ranks.assign(inside.begin(), inside.end());
    if (frontier_.watch() != nullptr && !Narrow(standing, &hang)) return;
    hangs_.push_back(std::move(hang));
  }

  // In a watched job: the last to come has not been here for long, or the first have just left.
  bool IsPassing(const Standing& standing) const {
    for (size_t i = 0; i < standing.at.size(); ++i) {
      const TraceOperation& operation = trace_.operations[standing.operations[i]];
      if (!frontier_.IsStuckIn(static_cast<size_t>(standing.at[i]), operation)) return true;
    }
    if (frontier_.watch() == nullptr || !standing.collective() || !IsSynchronous(standing.kind)) return false;
    const std::vector<int32_t>& members = MembersOf(standing);
    for (size_t m = 0; m < members.size(); ++m) {
      const int64_t finished = frontier_.Of(standing.communicator, static_cast<int32_t>(m)).finished;
      if (finished >= static_cast<int64_t>(standing.sequence)) return true;
    }
    return false;
  }

  // Of those inside: whose process cannot move, or else whose GPU has not begun what its host called, while others'
  // have. False = what keeps a GPU from beginning is another operation, which is judged by itself.
  bool Narrow(const Standing& standing, Hang* hang) const {
    std::vector<int32_t> halted, queued;
    std::copy_if(hang->ranks.begin(), hang->ranks.end(), std::back_inserter(halted), [&](int32_t rank) {
      const TraceRank& who = trace_.ranks[static_cast<size_t>(rank)];
      return IsGone(who) || who.process_state == ProcessState::kUninterruptible;
    });
    if (!halted.empty()) {
      hang->kind = HangKind::kHalted;
      hang->ranks = std::move(halted);
      return true;
    }
    bool begun = false;
    for (size_t i = 0; i < standing.at.size(); ++i) {
      const TraceOperation& operation = trace_.operations[standing.operations[i]];
      begun = begun || operation.started();
      if (operation.started() || operation.quality == TimingQuality::kHostEnqueue) continue;
      if (HasBegunAny(static_cast<size_t>(standing.at[i]))) return false;
      queued.push_back(standing.at[i]);
    }
    if (!begun || queued.empty()) return true;  // where nobody is seen to begin, the recorder cannot tell
    hang->kind = HangKind::kNotEntered;
    hang->called = true;
    hang->ranks = std::move(queued);
    return true;
  }

  bool HasBegunAny(size_t rank) const {
    const absl::Span<const size_t> open = frontier_.OpenOf(rank);
    return std::any_of(open.begin(), open.end(), [&](size_t index) { return trace_.operations[index].started(); });
  }

  void AddInside(const Standing& standing, std::set<int32_t>* inside) const {
    const std::vector<int32_t>& members = MembersOf(standing);
    for (size_t m = 0; m < members.size(); ++m) {
      const auto member = static_cast<int32_t>(m);
      if (!standing.collective() && member != standing.source && member != standing.destination) continue;
      if (standing.collective() &&
          frontier_.Of(standing.communicator, member).finished >= static_cast<int64_t>(standing.sequence)) {
        continue;
      }
      if (members[m] >= 0) inside->insert(members[m]);
    }
  }

  // The ranks of a cycle that differ: of the ranks that take part in two of its operations, those that stand at the one
  // while most stand at the other. Where there are as many of either, both.
  void AddDeadlock(const std::vector<int32_t>& nodes) {
    std::map<int32_t, std::vector<int32_t>> parties;  // ranks of the cycle by the operation at which they stand
    for (const int32_t node : nodes) {
      if (graph_.IsStanding(node)) continue;
      for (const int32_t next : graph_.edges[static_cast<size_t>(node)]) {
        if (std::binary_search(nodes.begin(), nodes.end(), next)) parties[next].push_back(node);
      }
    }
    std::set<int32_t> differing;
    for (auto a = parties.begin(); a != parties.end(); ++a) {
      for (auto b = std::next(a); b != parties.end() && parties.size() <= kMaxCycleOperations; ++b) {
        const std::vector<int32_t> at_a = MembersIn(a->second, graph_.At(b->first));
        const std::vector<int32_t> at_b = MembersIn(b->second, graph_.At(a->first));
        if (at_a.empty() || at_b.empty()) continue;
        if (at_a.size() <= at_b.size()) differing.insert(at_a.begin(), at_a.end());
        if (at_b.size() <= at_a.size()) differing.insert(at_b.begin(), at_b.end());
      }
    }
    Hang hang = At(HangKind::kDeadlock, graph_.At(parties.begin()->first));
    hang.ranks.assign(differing.begin(), differing.end());
    if (hang.ranks.empty()) {
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(hang.ranks),
                   [&](int32_t node) { return !graph_.IsStanding(node); });
    }
    hangs_.push_back(std::move(hang));
  }

  std::vector<int32_t> MembersIn(const std::vector<int32_t>& ranks, const Standing& standing) const {
    std::vector<int32_t> members;
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(members), [&](int32_t rank) {
      return frontier_.MemberOf(static_cast<size_t>(rank), standing.communicator) >= 0;
    });
    return members;
  }

  void AddMismatch(const Standing& standing) {
    if (standing.differing.empty()) return;
    Hang hang = At(HangKind::kMismatch, standing);
    hang.ranks = standing.differing;
    if (standing.usual_tuning.has_value()) hang.tuning = *standing.usual_tuning;
    hang.other_tuning = standing.other_tuning;
    hangs_.push_back(std::move(hang));
  }

  // Several stuck transfers that share a rank have one cause: what they share.
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
    if (transfers.size() < 2 || shared.empty()) return;
    hangs_[transfers[0]].ranks = std::move(shared);
    for (size_t i = transfers.size(); i-- > 1;) {
      hangs_.erase(hangs_.begin() + static_cast<std::ptrdiff_t>(transfers[i]));
    }
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const WaitGraph& graph_;
  const std::vector<std::vector<int32_t>>& waited_for_;
  const WaitTrust trust_;
  const size_t ranks_;
  std::vector<Hang> hangs_;
};

}  // namespace

std::vector<Hang> CollectCauses(const Frontier& frontier, const WaitGraph& graph,
                                const std::vector<std::vector<int32_t>>& waited_for, WaitTrust trust) {
  return Collector(frontier, graph, waited_for, trust).Run();
}

}  // namespace lockstep
