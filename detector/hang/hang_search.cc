#include "detector/hang/hang_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/shares.h"
#include "detector/hang/artefact_causes.h"
#include "detector/hang/blocked_operation.h"
#include "detector/hang/cause_places.h"
#include "detector/hang/hang_causes.h"
#include "detector/hang/hang_victims.h"
#include "detector/hang/precedents.h"
#include "detector/hang/wait_clocks.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {
namespace {

// In a hang everybody waits for the causes; records of a job under way end with ranks at work, and with waits that end
// by themselves. A tenth may wait for something that the records do not show, a quarter where some are lost.
constexpr double kMaxUnexplained = kFew;
constexpr double kMaxUnexplainedWithLosses = kMinorPart;

// Less than half of what the main cause holds up.
constexpr int32_t kMinorShare = 2;
// Each cause costs a walk through the graph; a job with more of them at once has one that is none of these.
constexpr size_t kMaxHangs = 256;
// Of the operations that wait for ranks at work this share must last longer than ever: who is late for good keeps up
// more than a few of them, while a stuck transfer may keep up none but itself. By judgement, not measured.
constexpr double kLongestShare = 0.05;
// As many times the longest work, as in precedents.cc: this alone will do; less, but more than it, helps.
constexpr double kSureAbsence = 2;

bool IsUnseen(const Frontier& frontier, const Hang& hang) {
  return std::any_of(hang.ranks.begin(), hang.ranks.end(),
                     [&](int32_t rank) { return frontier.Unseen(static_cast<size_t>(rank)); });
}

// How many ranks with records wait for longer than ever, whoever may be the cause; 0 unless most do.
size_t StandingRanks(const Frontier& frontier, const WaitClocks& clocks) {
  size_t known = 0, standing = 0;
  for (size_t rank = 0; rank < clocks.waited_ns.size(); ++rank) {
    if (!frontier.IsKnown(rank)) continue;
    ++known;
    standing += clocks.waited_ns[rank] >= clocks.long_ns ? 1 : 0;
  }
  return clocks.looked_at && 2 * standing > known ? standing : 0;
}

// `inside`: by node, who waits for the hang.
bool LastsLongest(const Precedents& precedents, const WaitGraph& graph, std::vector<char> inside, const Hang& hang) {
  using Tail = Precedents::Tail;
  for (const int32_t rank : hang.ranks) inside[static_cast<size_t>(rank)] = 1;
  std::vector<size_t> waiting;
  for (size_t rank = 0; rank < graph.not_begun.size(); ++rank) {
    if (inside[rank] != 0) waiting.push_back(rank);
  }
  if (hang.kind == HangKind::kTransfer) {
    return precedents.WaitLongest(waiting, 0, Tail::kExponential) ||
           std::any_of(graph.blocked_operations.begin(), graph.blocked_operations.end(),
                       [&](const BlockedOperation& blocked) {
                         return blocked.communicator == hang.communicator && blocked.sequence == hang.sequence &&
                                precedents.TransfersLongest(blocked);
                       });
  }
  double absence = std::numeric_limits<double>::infinity();  // the shortest that is known
  for (const int32_t rank : hang.ranks) {
    absence = std::min(absence, precedents.AbsenceToLongest(static_cast<size_t>(rank)).value_or(absence));
  }
  if (std::isfinite(absence) && absence > kSureAbsence) return true;
  return precedents.WaitLongest(waiting, kLongestShare, absence > 1 ? Tail::kExponential : Tail::kUnknown);
}

class Search {
 public:
  Search(const Frontier& frontier, bool stalls_pass)
      : frontier_(frontier),
        stalls_pass_(stalls_pass),
        trace_(frontier.trace()),
        ranks_(trace_.ranks.size()),
        artefacts_likely_(ArtefactsAreLikely(frontier)),
        graph_(BuildWaitGraph(frontier)),
        victims_(graph_),
        clocks_(MeasureWaits(frontier)) {}

  HangSearch Run() {
    found_.hangs = CollectCauses(frontier_, graph_, victims_.waited_for(), artefacts_likely_);
    LeaveOutMany();
    NoteBlocked();
    for (Hang& hang : found_.hangs) {
      LeaveTheDead(&hang);
      Complete(&hang);
    }
    if (frontier_.lost_share() > 0 || ManyCauses()) DropMinorCauses();
    // What is missing from a watched job's counters has not happened, unless calls are lost.
    if (artefacts_likely_ || frontier_.watch() == nullptr) {
      DropArtefacts(
          frontier_, victims_.waited_for(), [this](const Hang& hang) { return victims_.Of(hang); }, &found_.hangs);
    }
    if (clocks_.looked_at) std::erase_if(found_.hangs, [&](const Hang& h) { return !IsLong(h) && !HasDead(h); });
    DoubtMany();
    CountFree();
    std::stable_sort(found_.hangs.begin(), found_.hangs.end(),
                     [](const Hang& a, const Hang& b) { return a.victims > b.victims; });
    found_.end = Judge();
    return std::move(found_);
  }

 private:
  // Whoever stalls keeps the others waiting, and when he comes at last they wait for the transfer. But no stall makes
  // ranks call different operations, or wait for each other in a circle, if no lost record closes it.
  bool MayBeStall(const Hang& hang) const {
    if (hang.kind == HangKind::kDeadlock) return artefacts_likely_;
    return hang.kind != HangKind::kMismatch;
  }

  void LeaveOutMany() {
    if (found_.hangs.size() <= kMaxHangs) return;
    std::stable_sort(found_.hangs.begin(), found_.hangs.end(),
                     [](const Hang& a, const Hang& b) { return a.waiting > b.waiting; });
    found_.left_out = static_cast<int32_t>(found_.hangs.size() - kMaxHangs);
    found_.hangs.resize(kMaxHangs);
  }

  // A dead process is a cause for certain. Who is missing at the same place may be on its way.
  void LeaveTheDead(Hang* hang) const {
    if (!HasDead(*hang)) return;
    std::erase_if(hang->ranks, [&](int32_t rank) { return !IsGone(trace_.ranks[static_cast<size_t>(rank)]); });
  }

  // Who waits for the cause, and for how long.
  void Complete(Hang* hang) const {
    const std::vector<char> reached = victims_.Of(*hang);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (reached[rank] == 0) continue;
      ++hang->victims;
      if (hang->first_victims.size() < kMaxVictims) hang->first_victims.push_back(static_cast<int32_t>(rank));
      hang->waited_ns = std::max(hang->waited_ns, clocks_.waited_ns[rank]);
    }
    if (hang->kind == HangKind::kNotEntered && !hang->called) return;
    for (const int32_t rank : hang->ranks) {
      hang->waited_ns = std::max(hang->waited_ns, clocks_.waited_ns[static_cast<size_t>(rank)]);
    }
  }

  // With records lost, a rank whose last call is one of them looks as if it had not come; the true cause is the one for
  // which most ranks wait. So it is where there are more causes than come at once: many ranks that wait for something
  // of which there is no record seem to be causes, each of a few waits.
  void DropMinorCauses() {
    int32_t most = 0;
    for (const Hang& hang : found_.hangs) most = std::max(most, hang.victims);
    const bool many = ManyCauses();
    std::erase_if(found_.hangs, [&](const Hang& hang) {
      const bool minor = kMinorShare * hang.victims < most || (!many && LossExplains(frontier_, hang));
      return minor && hang.kind != HangKind::kMismatch && !HasDead(hang) &&
             !(many ? IsUnseen(frontier_, hang) : IsLong(hang));
    });
  }

  // Of records, since ranks of a watched job show where they are.
  bool ManyCauses() const { return frontier_.watch() == nullptr && CausesAreMany(trace_, found_.hangs); }

  // Of many causes that hold up as many ranks as each other nobody is accused, nor are the ranks of many hosts that
  // come to nothing at once, alive and seen: what they have in common no record shows.
  void DoubtMany() {
    const bool many = ManyCauses();
    for (Hang& hang : found_.hangs) {
      const bool doubtful = (many || IsOfManyHosts(trace_, hang)) && hang.kind != HangKind::kMismatch;
      if (doubtful && !HasDead(hang) && !IsUnseen(frontier_, hang)) hang.doubt = Doubt::kMany;
    }
  }

  void NoteBlocked() {
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (frontier_.Unseen(rank)) found_.unseen_ranks.push_back(static_cast<int32_t>(rank));
      if (clocks_.quiet_ns[rank] >= clocks_.long_ns) found_.quiet_ranks.push_back(static_cast<int32_t>(rank));
      if (!frontier_.OpenOf(rank).empty() && graph_.not_begun[rank] == 0) {
        found_.blocked_ranks.push_back(static_cast<int32_t>(rank));
      }
    }
  }

  // Ranks with records that no cause explains.
  void CountFree() {
    std::vector<char> explained(ranks_, 0);
    for (const Hang& hang : found_.hangs) {
      const std::vector<char> victims = victims_.Of(hang);
      for (size_t rank = 0; rank < ranks_; ++rank) explained[rank] |= victims[rank];
      for (const int32_t rank : hang.ranks) explained[static_cast<size_t>(rank)] = 1;
    }
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (explained[rank] == 0 && frontier_.IsKnown(rank)) ++found_.free_ranks;
    }
  }

  // Records of which the last one of every rank waits are not those of a job under way, whatever else they are.
  RecordsEnd Judge() {
    const RecordsEnd end = JudgeCauses();
    return end == RecordsEnd::kMoving && AllStand() ? RecordsEnd::kOpen : end;
  }

  RecordsEnd JudgeCauses() {
    if (found_.hangs.empty()) {
      found_.standing_ranks = StandingRanks(frontier_, clocks_);
      return found_.standing_ranks > 0 ? RecordsEnd::kOpen : RecordsEnd::kMoving;
    }
    if (clocks_.looked_at) return RecordsEnd::kHung;  // only long waits were kept
    for (const Hang& hang : found_.hangs) {
      if (HasDead(hang) || IsLong(hang)) return RecordsEnd::kHung;
    }
    if (stalls_pass_ &&
        std::any_of(found_.hangs.begin(), found_.hangs.end(), [this](const Hang& hang) { return MayBeStall(hang); }))
      return RecordsEnd::kMoving;
    const double unexplained = static_cast<double>(found_.free_ranks) / static_cast<double>(ranks_);
    const double most = frontier_.lost_share() > 0 ? kMaxUnexplainedWithLosses : kMaxUnexplained;
    if (unexplained > most) return RecordsEnd::kMoving;
    if (!CausesAreFew(trace_, found_.hangs)) return RecordsEnd::kOpen;
    return KeepUnprecedented() ? RecordsEnd::kHung : RecordsEnd::kOpen;
  }

  // All ranks with records are inside of an operation, or waited for, and nobody says when they were looked at.
  bool AllStand() {
    if (clocks_.looked_at || frontier_.watch() != nullptr) return false;
    std::vector<char> stands(ranks_, 0);
    for (const int32_t rank : found_.blocked_ranks) stands[static_cast<size_t>(rank)] = 1;
    for (const Hang& hang : found_.hangs) {
      for (const int32_t rank : hang.ranks) stands[static_cast<size_t>(rank)] = 1;
    }
    size_t known = 0;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (!frontier_.IsKnown(rank)) continue;
      if (stands[rank] == 0) return false;
      ++known;
    }
    if (found_.hangs.empty()) found_.inside_ranks = known;
    return true;
  }

  // Drops causes that may be passing lateness, unless that leaves none: then all are kept, and nothing is known.
  bool KeepUnprecedented() {
    if (!HasPrecedents(frontier_)) return true;
    const Precedents precedents(frontier_);
    for (Hang& hang : found_.hangs) {
      hang.longest_ever = !MayBeStall(hang) || LastsLongest(precedents, graph_, victims_.Of(hang), hang);
    }
    const auto passing = [](const Hang& hang) { return !hang.longest_ever; };
    if (std::all_of(found_.hangs.begin(), found_.hangs.end(), passing)) return false;
    std::erase_if(found_.hangs, passing);
    return true;
  }

  bool HasDead(const Hang& hang) const { return HasGone(trace_, hang); }

  bool IsLong(const Hang& hang) const { return hang.waited_ns >= clocks_.long_ns; }

  const Frontier& frontier_;
  const bool stalls_pass_;
  const Trace& trace_;
  const size_t ranks_;
  const bool artefacts_likely_;
  const WaitGraph graph_;
  const HangVictims victims_;
  const WaitClocks clocks_;
  HangSearch found_;
};

}  // namespace

HangSearch SearchHangs(const Frontier& frontier, bool stalls_pass) {
  if (!frontier.any_open()) return {};
  return Search(frontier, stalls_pass).Run();
}

}  // namespace lockstep
