#include "detector/progress/trace_hang.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "detector/progress/ghost_causes.h"
#include "detector/progress/precedents.h"
#include "detector/progress/strong_components.h"
#include "detector/progress/unrecorded_ranks.h"
#include "detector/progress/wait_clocks.h"
#include "detector/progress/wait_graph.h"

namespace lockstep {
namespace {

// In a hang everybody waits for the causes; records of a job under way end with ranks at work, and with waits that end
// by themselves. A tenth may wait for something that the records do not show, a quarter where some are lost.
constexpr double kMaxUnexplained = 0.1;
constexpr double kMaxUnexplainedWithLosses = 0.25;
// Causes are few: as many as every twentieth host, or two where there are some hosts, and one stuck transfer. Ranks of
// equal duty do equal things at equal times: several that do the same are at work.
constexpr size_t kCauseShare = 20;
constexpr size_t kSomeHosts = 8;
// A wait that the clocks show must be this many times as long as the longest finished operation, and a second more.
constexpr int64_t kLongWaitMultiple = 2;
constexpr int64_t kLongWaitFloorNs = 1'000'000'000;
constexpr int32_t kMinorShare = 2;
constexpr double kLossChance = 0.1;         // that records of a call were lost: more, and their absence proves nothing
constexpr size_t kMaxCycleOperations = 64;  // beyond that, all ranks of the cycle are listed
constexpr int64_t kUnknownLongWaitNs = 30'000'000'000;  // where nothing has finished
// Of the operations that wait for ranks at work this share must last longer than ever: who is late for good keeps up
// more than a few of them, while a stuck transfer may keep up none but itself.
constexpr double kLongestShare = 0.05;
constexpr double kSureAbsence = 2;  // as many times the longest work: this alone will do; less, but more than it, helps

class Search {
  using Tail = Precedents::Tail;

 public:
  Search(const TraceFrontier& frontier, bool stalls_pass)
      : frontier_(frontier),
        stalls_pass_(stalls_pass),
        trace_(frontier.trace()),
        ranks_(trace_.ranks.size()),
        ghosts_likely_(GhostsAreLikely(frontier)),
        graph_(BuildWaitGraph(frontier)),
        components_(FindStrongComponents(graph_.edges)),
        clocks_(MeasureWaits(frontier)) {}

  TraceHangSearch Run() {
    waited_for_.resize(graph_.edges.size());
    for (size_t node = 0; node < graph_.edges.size(); ++node) {
      for (const int32_t next : graph_.edges[node]) {
        waited_for_[static_cast<size_t>(next)].push_back(static_cast<int32_t>(node));
      }
    }
    CollectRankCauses();
    CollectOtherCauses();
    for (size_t s = 0; s < graph_.standings.size(); ++s) AddMismatch(s);
    MergeTransfers();
    NoteStanding();
    for (TraceHang& hang : found_.hangs) {
      LeaveTheDead(&hang);
      Complete(&hang);
    }
    if (frontier_.lost_share() > 0) DropMinorCauses();
    if (ghosts_likely_) DropGhosts(frontier_, waited_for_, &found_.hangs);
    if (clocks_.looked_at) std::erase_if(found_.hangs, [&](const TraceHang& h) { return !IsLong(h) && !HasDead(h); });
    CountFree();
    std::stable_sort(found_.hangs.begin(), found_.hangs.end(),
                     [](const TraceHang& a, const TraceHang& b) { return a.victims > b.victims; });
    found_.end = Judge();
    return std::move(found_);
  }

 private:
  // Whoever stalls keeps the others waiting, and when he comes at last they wait for the transfer. But no stall makes
  // ranks call different operations, or wait for each other in a circle, if no lost record closes it.
  bool MayBeStall(const TraceHang& hang) const {
    if (hang.kind == TraceHangKind::kDeadlock) return ghosts_likely_;
    return hang.kind != TraceHangKind::kMismatch;
  }

  int32_t NodeOf(size_t standing) const { return static_cast<int32_t>(ranks_ + standing); }

  TraceHang At(TraceHangKind kind, const Standing& standing) const {
    return {.kind = kind,
            .communicator = standing.communicator,
            .sequence = standing.sequence,
            .operation = standing.kind,
            .waiting = static_cast<int32_t>(standing.at.size())};
  }

  bool HasNoWayOut(size_t rank) const { return graph_.edges[rank].empty() && graph_.place_lost[rank] == 0; }

  // Ranks that are waited for, or left behind, and wait for nobody. Those that one operation waits for together are one
  // cause with several culprits.
  void CollectRankCauses() {
    std::vector<int32_t> cause(ranks_, -1);  // the cause of each rank, an index into `causes`
    std::vector<TraceHang> causes;
    const auto add = [&](size_t rank, const Standing& standing, TraceHangKind kind, bool called) {
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
        if (cause[rank] < 0 && shared < 0) add(rank, graph_.standings[s], TraceHangKind::kNotEntered, called);
        if (cause[rank] < 0) cause[rank] = shared;
        if (shared >= 0 && shared != cause[rank]) std::replace(cause.begin(), cause.end(), shared, cause[rank]);
        shared = cause[rank];
      }
    }
    for (size_t s = 0; s < graph_.standings.size(); ++s) {
      const Standing& standing = graph_.standings[s];
      if (!standing.finished_by_some || !standing.collective()) continue;
      int32_t shared = -1;
      for (const int32_t slot : standing.at) {
        const auto rank = static_cast<size_t>(slot);
        if (cause[rank] >= 0) continue;
        if (shared < 0) add(rank, standing, TraceHangKind::kNotFinished, false);
        if (shared < 0) shared = cause[rank];
        cause[rank] = shared;
      }
    }
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (cause[rank] >= 0) causes[static_cast<size_t>(cause[rank])].ranks.push_back(static_cast<int32_t>(rank));
    }
    for (TraceHang& hang : causes) {
      if (!hang.ranks.empty()) found_.hangs.push_back(std::move(hang));
    }
  }

  // Operations that nobody is missing from, and cycles.
  void CollectOtherCauses() {
    for (size_t component = 0; component < components_.nodes.size(); ++component) {
      const std::vector<int32_t>& nodes = components_.nodes[component];
      if (!graph_.IsStanding(nodes.back())) continue;
      // A ghost in a cycle is a way out of it.
      const bool sink = components_.sink[component] != 0;
      if (!sink && (!ghosts_likely_ || nodes.size() == 1)) continue;
      bool differs = false;
      bool cycle = false;
      for (const int32_t node : nodes) {
        if (!graph_.IsStanding(node)) continue;
        differs = differs || !graph_.At(node).differing.empty();
        const std::vector<MemberState>& states = graph_.member_states[static_cast<size_t>(node) - ranks_];
        cycle = cycle || std::any_of(states.begin(), states.end(),
                                     [](MemberState state) { return state != MemberState::kQueued; });
      }
      if (differs) continue;
      if (cycle) {
        AddDeadlock(nodes);
      } else if (sink) {
        AddStuck(nodes);
      }
    }
  }

  void AddStuck(const std::vector<int32_t>& nodes) {
    const auto first = std::find_if(nodes.begin(), nodes.end(), [&](int32_t n) { return graph_.IsStanding(n); });
    const Standing& standing = graph_.At(*first);
    // Only ranks stand here that are stuck for another reason.
    if (waited_for_[static_cast<size_t>(*first)].empty()) return;
    if (standing.peer_unknown || (standing.finished_by_some && standing.collective())) return;
    TraceHang hang = At(TraceHangKind::kTransfer, standing);
    std::set<int32_t> inside;
    for (const int32_t node : nodes) {
      if (!graph_.IsStanding(node)) continue;
      AddInside(graph_.At(node), &inside);
      AddUnrecorded(trace_, graph_.At(node), &hang.unrecorded);
    }
    if (!hang.unrecorded.empty()) {
      hang.kind = TraceHangKind::kNotEntered;
      found_.hangs.push_back(std::move(hang));
      return;
    }
    hang.ranks.assign(inside.begin(), inside.end());
    found_.hangs.push_back(std::move(hang));
  }

  void AddInside(const Standing& standing, std::set<int32_t>* inside) const {
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(standing.communicator)].members;
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
    TraceHang hang = At(TraceHangKind::kDeadlock, graph_.At(parties.begin()->first));
    hang.ranks.assign(differing.begin(), differing.end());
    if (hang.ranks.empty()) {
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(hang.ranks),
                   [&](int32_t node) { return !graph_.IsStanding(node); });
    }
    found_.hangs.push_back(std::move(hang));
  }

  std::vector<int32_t> MembersIn(const std::vector<int32_t>& ranks, const Standing& standing) const {
    std::vector<int32_t> members;
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(members), [&](int32_t rank) {
      return frontier_.MemberOf(static_cast<size_t>(rank), standing.communicator) >= 0;
    });
    return members;
  }

  void AddMismatch(size_t s) {
    const Standing& standing = graph_.standings[s];
    if (standing.differing.empty()) return;
    TraceHang hang = At(TraceHangKind::kMismatch, standing);
    hang.ranks = standing.differing;
    found_.hangs.push_back(std::move(hang));
  }

  // Several stuck transfers that share a rank have one cause: what they share.
  void MergeTransfers() {
    std::vector<size_t> transfers;
    std::map<int32_t, size_t> in;
    for (size_t h = 0; h < found_.hangs.size(); ++h) {
      if (found_.hangs[h].kind != TraceHangKind::kTransfer) continue;
      transfers.push_back(h);
      for (const int32_t rank : found_.hangs[h].ranks) ++in[rank];
    }
    std::vector<int32_t> shared;
    for (const auto& [rank, count] : in) {
      if (count == transfers.size()) shared.push_back(rank);
    }
    if (transfers.size() < 2 || shared.empty()) return;
    found_.hangs[transfers[0]].ranks = std::move(shared);
    for (size_t i = transfers.size(); i-- > 1;) {
      found_.hangs.erase(found_.hangs.begin() + static_cast<std::ptrdiff_t>(transfers[i]));
    }
  }

  // By node: whether it waits for the cause, directly or over others; the cause's own ranks do not.
  std::vector<char> VictimsOf(const TraceHang& hang) const {
    std::vector<int32_t> unvisited = hang.kind == TraceHangKind::kTransfer ? std::vector<int32_t>{} : hang.ranks;
    for (size_t s = 0; s < graph_.standings.size(); ++s) {
      const Standing& standing = graph_.standings[s];
      if (standing.communicator == hang.communicator && standing.sequence == hang.sequence) {
        unvisited.push_back(NodeOf(s));
      }
    }
    std::vector<char> reached = ReachedFrom(std::move(unvisited), waited_for_);
    for (const int32_t rank : hang.ranks) reached[static_cast<size_t>(rank)] = 0;
    return reached;
  }

  // A dead process is a cause for certain. Who is missing at the same place may be on its way.
  void LeaveTheDead(TraceHang* hang) const {
    if (!HasDead(*hang)) return;
    std::erase_if(hang->ranks, [&](int32_t rank) { return !IsGone(trace_.ranks[static_cast<size_t>(rank)]); });
  }

  // Who waits for the cause, and for how long.
  void Complete(TraceHang* hang) const {
    const std::vector<char> reached = VictimsOf(*hang);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (reached[rank] == 0) continue;
      ++hang->victims;
      hang->waited_ns = std::max(hang->waited_ns, clocks_.waited_ns[rank]);
    }
    if (hang->kind != TraceHangKind::kTransfer) return;
    for (const int32_t rank : hang->ranks) {
      hang->waited_ns = std::max(hang->waited_ns, clocks_.waited_ns[static_cast<size_t>(rank)]);
    }
  }

  // With records lost, a rank whose last call is one of them looks as if it had not come; the true cause is the one for
  // which most ranks wait.
  void DropMinorCauses() {
    int32_t most = 0;
    for (const TraceHang& hang : found_.hangs) most = std::max(most, hang.victims);
    std::erase_if(found_.hangs, [&](const TraceHang& hang) {
      const bool minor = kMinorShare * hang.victims < most || LossExplains(hang);
      return minor && hang.kind != TraceHangKind::kMismatch && !HasDead(hang) && !IsLong(hang);
    });
  }

  // Whether that many records of the call may well be lost by chance.
  bool LossExplains(const TraceHang& hang) const {
    if (hang.kind != TraceHangKind::kNotEntered || hang.called || hang.ranks.empty()) return false;
    const bool unseen = std::any_of(hang.ranks.begin(), hang.ranks.end(),
                                    [&](int32_t rank) { return frontier_.Unseen(static_cast<size_t>(rank)); });
    const auto members =
        static_cast<double>(trace_.communicators[static_cast<size_t>(hang.communicator)].members.size());
    const double chance = std::pow(members * frontier_.lost_share(), static_cast<double>(hang.ranks.size()));
    return !unseen && chance > kLossChance;
  }

  void NoteStanding() {
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (frontier_.Unseen(rank)) found_.unseen_ranks.push_back(static_cast<int32_t>(rank));
      if (!frontier_.OpenOf(rank).empty() && graph_.not_begun[rank] == 0) {
        found_.standing_ranks.push_back(static_cast<int32_t>(rank));
      }
    }
  }

  // Ranks with records that no cause explains.
  void CountFree() {
    std::vector<char> explained(ranks_, 0);
    for (const TraceHang& hang : found_.hangs) {
      const std::vector<char> victims = VictimsOf(hang);
      for (size_t rank = 0; rank < ranks_; ++rank) explained[rank] |= victims[rank];
      for (const int32_t rank : hang.ranks) explained[static_cast<size_t>(rank)] = 1;
    }
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (explained[rank] == 0 && !trace_.OperationsOf(rank).empty()) ++found_.free_ranks;
    }
  }

  TraceEnd Judge() {
    if (found_.hangs.empty()) return TraceEnd::kMoving;
    if (clocks_.looked_at) return TraceEnd::kHung;  // only long waits were kept
    for (const TraceHang& hang : found_.hangs) {
      if (HasDead(hang) || IsLong(hang)) return TraceEnd::kHung;
    }
    if (stalls_pass_ && std::any_of(found_.hangs.begin(), found_.hangs.end(),
                                    [this](const TraceHang& hang) { return MayBeStall(hang); }))
      return TraceEnd::kMoving;
    const double unexplained = static_cast<double>(found_.free_ranks) / static_cast<double>(ranks_);
    const double most = frontier_.lost_share() > 0 ? kMaxUnexplainedWithLosses : kMaxUnexplained;
    if (unexplained > most || !CausesAreFew()) return TraceEnd::kMoving;
    return KeepUnprecedented() ? TraceEnd::kHung : TraceEnd::kOpen;
  }

  // Drops causes that may be passing lateness, unless that leaves none: then all are kept, and nothing is known.
  bool KeepUnprecedented() {
    if (!HasPrecedents(frontier_)) return true;
    const Precedents precedents(frontier_);
    for (TraceHang& hang : found_.hangs) hang.longest_ever = !MayBeStall(hang) || LastsLongest(precedents, hang);
    const auto passing = [](const TraceHang& hang) { return !hang.longest_ever; };
    if (std::all_of(found_.hangs.begin(), found_.hangs.end(), passing)) return false;
    std::erase_if(found_.hangs, passing);
    return true;
  }

  bool LastsLongest(const Precedents& precedents, const TraceHang& hang) const {
    std::vector<char> inside = VictimsOf(hang);
    for (const int32_t rank : hang.ranks) inside[static_cast<size_t>(rank)] = 1;
    std::vector<size_t> waiting;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (inside[rank] != 0) waiting.push_back(rank);
    }
    if (hang.kind == TraceHangKind::kTransfer) {
      return precedents.WaitLongest(waiting, 0, Tail::kExponential) ||
             std::any_of(graph_.standings.begin(), graph_.standings.end(), [&](const Standing& standing) {
               return standing.communicator == hang.communicator && standing.sequence == hang.sequence &&
                      precedents.TransfersLongest(standing);
             });
    }
    double absence = std::numeric_limits<double>::infinity();  // the shortest that is known
    for (const int32_t rank : hang.ranks) {
      absence = std::min(absence, precedents.AbsenceToLongest(static_cast<size_t>(rank)).value_or(absence));
    }
    if (std::isfinite(absence) && absence > kSureAbsence) return true;
    return precedents.WaitLongest(waiting, kLongestShare, absence > 1 ? Tail::kExponential : Tail::kUnknown);
  }

  bool HasDead(const TraceHang& hang) const { return HasGone(trace_, hang); }

  bool IsLong(const TraceHang& hang) const {
    return hang.waited_ns > (clocks_.longest_usual_ns > 0
                                 ? kLongWaitFloorNs + kLongWaitMultiple * clocks_.longest_usual_ns
                                 : kUnknownLongWaitNs);
  }

  // A place is a whole host, or a single rank: that some ranks of a host are all that the others wait for, and the rest
  // of them not, is what the end of a file looks like.
  bool CausesAreFew() const {
    std::map<int32_t, size_t> causes, ranks;  // by host
    for (const TraceRank& rank : trace_.ranks) ++ranks[rank.host];
    int32_t transfers = 0;
    for (const TraceHang& hang : found_.hangs) {
      if (hang.kind == TraceHangKind::kTransfer) ++transfers;
      if (hang.kind != TraceHangKind::kNotEntered && hang.kind != TraceHangKind::kNotFinished) continue;
      for (const int32_t rank : hang.ranks) ++causes[trace_.ranks[static_cast<size_t>(rank)].host];
    }
    size_t places = 0, whole_hosts = 0;
    for (const auto& [host, count] : causes) {
      const bool whole = count > 1 && count == ranks[host];
      whole_hosts += whole ? 1 : 0;
      places += whole ? 1 : count;
    }
    const size_t hosts = trace_.hosts.size();
    const size_t few = std::max<size_t>(hosts >= kSomeHosts ? 2 : 1, hosts / kCauseShare);
    return places <= few && whole_hosts <= std::max<size_t>(1, hosts / kCauseShare) && transfers <= 1;
  }

  const TraceFrontier& frontier_;
  const bool stalls_pass_;
  const Trace& trace_;
  const size_t ranks_;
  const bool ghosts_likely_;
  const WaitGraph graph_;
  const StrongComponents components_;
  std::vector<std::vector<int32_t>> waited_for_;  // the edges turned round
  const WaitClocks clocks_;
  TraceHangSearch found_;
};

}  // namespace

TraceHangSearch SearchTraceHangs(const TraceFrontier& frontier, bool stalls_pass) {
  if (!frontier.any_open()) return {};
  return Search(frontier, stalls_pass).Run();
}

}  // namespace lockstep
