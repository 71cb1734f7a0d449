#include "detector/hang/hang_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/shares.h"
#include "detector/hang/artefact_causes.h"
#include "detector/hang/hang_causes.h"
#include "detector/hang/precedents.h"
#include "detector/hang/wait_clocks.h"
#include "detector/hang/wait_graph.h"
#include "detector/verdict/many_named.h"

namespace lockstep {
namespace {

// In a hang everybody waits for the causes; records of a job under way end with ranks at work, and with waits that end
// by themselves. A tenth may wait for something that the records do not show, a quarter where some are lost.
constexpr double kMaxUnexplained = kFew;
constexpr double kMaxUnexplainedWithLosses = kMinorPart;
// Causes are few: as many as every twentieth host, or two where there are some hosts, and one stuck transfer. Ranks of
// equal duty do equal things at equal times: several that do the same are at work. By
// judgement, not measured.
constexpr size_t kCauseShare = 20;
constexpr size_t kSomeHosts = 8;

// Less than half of what the main cause holds up.
constexpr int32_t kMinorShare = 2;
// Each cause costs a walk through the graph; a job with more of them at once has one that is none of these.
constexpr size_t kMaxHangs = 256;
// Of the operations that wait for ranks at work this share must last longer than ever: who is late for good keeps up
// more than a few of them, while a stuck transfer may keep up none but itself. By judgement, not measured.
constexpr double kLongestShare = 0.05;
// As many times the longest work, as in precedents.cc: this alone will do; less, but more than it, helps.
constexpr double kSureAbsence = 2;

class Search {
  using Tail = Precedents::Tail;

 public:
  Search(const Frontier& frontier, bool stalls_pass)
      : frontier_(frontier),
        stalls_pass_(stalls_pass),
        trace_(frontier.trace()),
        ranks_(trace_.ranks.size()),
        artefacts_likely_(ArtefactsAreLikely(frontier)),
        graph_(BuildWaitGraph(frontier)),
        clocks_(MeasureWaits(frontier)) {}

  HangSearch Run() {
    waited_for_.resize(graph_.edges.size());
    for (size_t node = 0; node < graph_.edges.size(); ++node) {
      for (const int32_t next : graph_.edges[node]) {
        waited_for_[static_cast<size_t>(next)].push_back(static_cast<int32_t>(node));
      }
    }
    found_.hangs = CollectCauses(frontier_, graph_, waited_for_, artefacts_likely_);
    LeaveOutMany();
    NoteBlocked();
    for (Hang& hang : found_.hangs) {
      LeaveTheDead(&hang);
      Complete(&hang);
    }
    if (frontier_.lost_share() > 0 || CausesAreMany()) DropMinorCauses();
    // What is missing from a watched job's counters has not happened, unless calls are lost.
    if (artefacts_likely_ || frontier_.watch() == nullptr) {
      DropArtefacts(
          frontier_, waited_for_, [this](const Hang& hang) { return VictimsOf(hang); }, &found_.hangs);
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

  int32_t NodeOf(size_t blocked) const { return static_cast<int32_t>(ranks_ + blocked); }

  // By node: whether it waits for the cause, directly or over others; the cause's own ranks do not.
  std::vector<char> VictimsOf(const Hang& hang) const {
    std::vector<int32_t> unvisited = hang.kind == HangKind::kTransfer ? std::vector<int32_t>{} : hang.ranks;
    for (size_t s = 0; s < graph_.blocked_operations.size(); ++s) {
      const BlockedOperation& blocked = graph_.blocked_operations[s];
      if (blocked.communicator == hang.communicator && blocked.sequence == hang.sequence) {
        unvisited.push_back(NodeOf(s));
      }
    }
    std::vector<char> reached = ReachedFrom(std::move(unvisited), waited_for_);
    for (const int32_t rank : hang.ranks) reached[static_cast<size_t>(rank)] = 0;
    return reached;
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
    const std::vector<char> reached = VictimsOf(*hang);
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
    const bool many = CausesAreMany();
    std::erase_if(found_.hangs, [&](const Hang& hang) {
      const bool minor = kMinorShare * hang.victims < most || (!many && LossExplains(frontier_, hang));
      return minor && hang.kind != HangKind::kMismatch && !HasDead(hang) && !(many ? IsUnseen(hang) : IsLong(hang));
    });
  }

  // Of records, since ranks of a watched job show where they are. A host that all causes have in common is one.
  bool CausesAreMany() const {
    std::map<int32_t, size_t> causes;  // by host
    for (const Hang& hang : found_.hangs) {
      std::set<int32_t> hosts;
      for (const int32_t rank : hang.ranks) hosts.insert(trace_.ranks[static_cast<size_t>(rank)].host);
      for (const int32_t host : hosts) ++causes[host];
    }
    const size_t all = found_.hangs.size();
    const bool shared = std::any_of(causes.begin(), causes.end(), [all](const auto& c) { return c.second == all; });
    return frontier_.watch() == nullptr && all > 1 && !shared && !CausesAreFew();
  }

  // Of many causes that hold up as many ranks as each other nobody is accused, nor are the ranks of many hosts that
  // come to nothing at once, alive and seen: what they have in common no record shows.
  void DoubtMany() {
    const bool many = CausesAreMany();
    for (Hang& hang : found_.hangs) {
      const bool doubtful = (many || IsOfManyHosts(hang)) && hang.kind != HangKind::kMismatch;
      if (doubtful && !HasDead(hang) && !IsUnseen(hang)) hang.doubt = Doubt::kMany;
    }
  }

  // Those inside of a transfer or a circle hold up one another.
  bool IsOfManyHosts(const Hang& hang) const {
    if (hang.kind == HangKind::kTransfer || hang.kind == HangKind::kDeadlock) return false;
    std::set<int32_t> hosts;
    for (const int32_t rank : hang.ranks) hosts.insert(trace_.ranks[static_cast<size_t>(rank)].host);
    return !IsFewOf(hosts.size(), trace_.hosts.size());
  }

  bool IsUnseen(const Hang& hang) const {
    return std::any_of(hang.ranks.begin(), hang.ranks.end(),
                       [&](int32_t rank) { return frontier_.Unseen(static_cast<size_t>(rank)); });
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
      const std::vector<char> victims = VictimsOf(hang);
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
    if (found_.hangs.empty()) return MostStand() ? RecordsEnd::kOpen : RecordsEnd::kMoving;
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
    if (!CausesAreFew()) return RecordsEnd::kOpen;
    return KeepUnprecedented() ? RecordsEnd::kHung : RecordsEnd::kOpen;
  }

  // Most ranks with records wait for longer than ever, whoever may be the cause.
  bool MostStand() {
    size_t known = 0, standing = 0;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (!frontier_.IsKnown(rank)) continue;
      ++known;
      standing += clocks_.waited_ns[rank] >= clocks_.long_ns ? 1 : 0;
    }
    if (!clocks_.looked_at || 2 * standing <= known) return false;
    found_.standing_ranks = standing;
    return true;
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
    for (Hang& hang : found_.hangs) hang.longest_ever = !MayBeStall(hang) || LastsLongest(precedents, hang);
    const auto passing = [](const Hang& hang) { return !hang.longest_ever; };
    if (std::all_of(found_.hangs.begin(), found_.hangs.end(), passing)) return false;
    std::erase_if(found_.hangs, passing);
    return true;
  }

  bool LastsLongest(const Precedents& precedents, const Hang& hang) const {
    std::vector<char> inside = VictimsOf(hang);
    for (const int32_t rank : hang.ranks) inside[static_cast<size_t>(rank)] = 1;
    std::vector<size_t> waiting;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (inside[rank] != 0) waiting.push_back(rank);
    }
    if (hang.kind == HangKind::kTransfer) {
      return precedents.WaitLongest(waiting, 0, Tail::kExponential) ||
             std::any_of(graph_.blocked_operations.begin(), graph_.blocked_operations.end(),
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

  bool HasDead(const Hang& hang) const { return HasGone(trace_, hang); }

  bool IsLong(const Hang& hang) const { return hang.waited_ns >= clocks_.long_ns; }

  // A place is a whole host, or a single rank: that some ranks of a host are all that the others wait for, and the rest
  // of them not, is what the end of a file looks like.
  bool CausesAreFew() const {
    std::map<int32_t, size_t> causes, ranks;  // by host
    for (const TraceRank& rank : trace_.ranks) ++ranks[rank.host];
    int32_t operations = 0;  // that are causes
    for (const Hang& hang : found_.hangs) {
      if (hang.kind == HangKind::kTransfer || hang.kind == HangKind::kDeadlock) ++operations;
      if (hang.kind != HangKind::kNotEntered && hang.kind != HangKind::kNotFinished) continue;
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
    return places <= few && whole_hosts <= std::max<size_t>(1, hosts / kCauseShare) && operations <= 1;
  }

  const Frontier& frontier_;
  const bool stalls_pass_;
  const Trace& trace_;
  const size_t ranks_;
  const bool artefacts_likely_;
  const WaitGraph graph_;
  std::vector<std::vector<int32_t>> waited_for_;  // the edges turned round
  const WaitClocks clocks_;
  HangSearch found_;
};

}  // namespace

HangSearch SearchHangs(const Frontier& frontier, bool stalls_pass) {
  if (!frontier.any_open()) return {};
  return Search(frontier, stalls_pass).Run();
}

}  // namespace lockstep
