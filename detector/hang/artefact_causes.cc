#include "detector/hang/artefact_causes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "base/shares.h"
#include "detector/hang/wait_graph.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// Artefacts that are expected in the whole trace, or among the members of one operation: with fewer than this, nine of
// ten have none.
constexpr double kLikely = kFew;

enum Sureness : int32_t { kLossMayShowIt, kMuchLossMayShowIt, kNoLossShowsIt };

class Sieve {
 public:
  Sieve(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for)
      : frontier_(frontier),
        trace_(frontier.trace()),
        waited_for_(waited_for),
        artefacts_likely_(ArtefactsAreLikely(frontier)) {
    ranks_on_host_.assign(trace_.hosts.size(), 0);
    unseen_on_host_.assign(trace_.hosts.size(), 0);
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      if (trace_.ranks[rank].host < 0) continue;
      const auto host = static_cast<size_t>(trace_.ranks[rank].host);
      ++ranks_on_host_[host];
      if (frontier.Unseen(rank)) ++unseen_on_host_[host];
    }
  }

  void Run(absl::FunctionRef<std::vector<char>(const Hang&)> victims_of, std::vector<Hang>* hangs) const {
    Sureness surest = kLossMayShowIt;
    for (Hang& hang : *hangs) {
      LeaveLessSure(&hang);
      surest = std::max(surest, SurenessOf(hang));
    }
    std::vector<char> explained(waited_for_.size(), 0);
    for (const Hang& hang : *hangs) {
      if (SurenessOf(hang) < surest) continue;
      const std::vector<char> victims = victims_of(hang);
      std::transform(victims.begin(), victims.end(), explained.begin(), explained.begin(), std::bit_or<char>());
      for (const int32_t rank : hang.ranks) explained[static_cast<size_t>(rank)] = 1;
    }
    std::erase_if(*hangs, [&](const Hang& hang) {
      return SurenessOf(hang) < surest && (artefacts_likely_ || Explains(explained, victims_of(hang)));
    });
    if (surest > kLossMayShowIt || !artefacts_likely_) return;
    KeepTheMostAwaited(hangs);
    for (Hang& hang : *hangs) LeaveArtefacts(&hang.ranks);
    MarkDoubts(hangs);
  }

 private:
  // Losses here and there make single ranks look as if their records ended early, but not most of a host.
  bool IsSure(int32_t rank) const {
    const TraceRank& who = trace_.ranks[static_cast<size_t>(rank)];
    if (IsGone(who)) return true;
    if (who.host < 0 || !frontier_.Unseen(static_cast<size_t>(rank))) return false;
    return 2 * unseen_on_host_[static_cast<size_t>(who.host)] >= ranks_on_host_[static_cast<size_t>(who.host)];
  }

  // The host has called what the others wait for, as its record says, and is still there.
  bool HasCalled(const Hang& hang, int32_t rank) const {
    if (IsGone(trace_.ranks[static_cast<size_t>(rank)]) || frontier_.Unseen(static_cast<size_t>(rank))) return false;
    const int32_t member = frontier_.MemberOf(static_cast<size_t>(rank), hang.communicator);
    if (IsPointToPoint(hang.operation) || member < 0) return hang.called;
    return frontier_.Of(hang.communicator, member).entered >= static_cast<int64_t>(hang.sequence);
  }

  Sureness SurenessOf(const Hang& hang, int32_t rank) const {
    if (IsSure(rank)) return kNoLossShowsIt;
    const bool absent = hang.kind == HangKind::kNotEntered && !HasCalled(hang, rank);
    return (absent || hang.kind == HangKind::kStopped) && frontier_.lost_share() > 0 ? kLossMayShowIt
                                                                                     : kMuchLossMayShowIt;
  }

  Sureness SurenessOf(const Hang& hang) const {
    if (hang.kind == HangKind::kMismatch) return kNoLossShowsIt;
    const bool partly_seen = hang.kind == HangKind::kTransfer && hang.waiting < static_cast<int32_t>(hang.ranks.size());
    Sureness surest = kLossMayShowIt;
    for (const int32_t rank : hang.ranks) {
      const Sureness of_rank = SurenessOf(hang, rank);
      if (of_rank == kNoLossShowsIt || !partly_seen) surest = std::max(surest, of_rank);
    }
    return surest;
  }

  // Of several ranks that are missing from one operation.
  void LeaveLessSure(Hang* hang) const {
    if (hang->kind != HangKind::kNotEntered || hang->ranks.empty()) return;
    const Sureness surest = SurenessOf(*hang);
    std::erase_if(hang->ranks, [&](int32_t rank) { return SurenessOf(*hang, rank) < surest; });
    hang->called =
        std::all_of(hang->ranks.begin(), hang->ranks.end(), [&](int32_t rank) { return HasCalled(*hang, rank); });
  }

  static bool Explains(const std::vector<char>& explained, const std::vector<char>& victims) {
    return std::equal(victims.begin(), victims.end(), explained.begin(), explained.end(),
                      [](char victim, char is_explained) { return victim == 0 || is_explained != 0; });
  }

  static void KeepTheMostAwaited(std::vector<Hang>* hangs) {
    int32_t most = 0;
    for (const Hang& hang : *hangs) most = std::max(most, hang.victims);
    std::erase_if(*hangs, [most](const Hang& hang) { return hang.victims < most; });
  }

  // The ranks that lead to this one.
  int64_t WaitingFor(int32_t rank) const {
    const std::vector<char> reached = ReachedFrom({rank}, waited_for_);
    return std::count(reached.begin(), reached.begin() + static_cast<std::ptrdiff_t>(trace_.ranks.size()), 1);
  }

  // Of several ranks that are missing from one operation, those that most wait for.
  void LeaveArtefacts(std::vector<int32_t>* ranks) const {
    std::vector<std::pair<int64_t, int32_t>> waiting;  // how many, for whom
    int64_t most = 0;
    for (const int32_t rank : *ranks) {
      waiting.push_back({WaitingFor(rank), rank});
      most = std::max(most, waiting.back().first);
    }
    ranks->clear();
    for (const auto& [count, rank] : waiting) {
      if (count == most) ranks->push_back(rank);
    }
  }

  // Losses strike one rank here and one there; what several ranks of one host have in common is no artefact.
  void MarkDoubts(std::vector<Hang>* hangs) const {
    std::set<int32_t> hosts;
    bool lost = frontier_.watch() == nullptr;
    for (const Hang& hang : *hangs) {
      for (const int32_t rank : hang.ranks) hosts.insert(trace_.ranks[static_cast<size_t>(rank)].host);
      lost = lost && LossExplains(frontier_, hang);
    }
    if (!lost || hosts.size() <= 1) return;
    for (Hang& hang : *hangs) hang.doubt = Doubt::kLost;
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const std::vector<std::vector<int32_t>>& waited_for_;
  std::vector<int32_t> ranks_on_host_;
  std::vector<int32_t> unseen_on_host_;
  const bool artefacts_likely_;
};

// The calls, this one and those behind it, of whoever waits in the operation and has called the least: a rank that is
// missing from it for want of records lacks the records of as many.
int64_t CallsFrom(const Frontier& frontier, const Hang& hang) {
  if (hang.communicator < 0 || IsPointToPoint(hang.operation)) return 1;
  const auto sequence = static_cast<int64_t>(hang.sequence);
  const size_t members = frontier.trace().communicators[static_cast<size_t>(hang.communicator)].members.size();
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t m = 0; m < members; ++m) {
    const int64_t entered = frontier.Of(hang.communicator, static_cast<int32_t>(m)).entered;
    if (entered >= sequence) least = std::min(least, entered - sequence + 1);
  }
  return least == std::numeric_limits<int64_t>::max() ? 1 : least;
}

}  // namespace

bool ArtefactsAreLikely(const Frontier& frontier) {
  return static_cast<double>(frontier.trace().ranks.size()) * frontier.lost_share() > kLikely;
}

bool LossIsLikely(const Frontier& frontier, size_t members, int64_t records, size_t ranks) {
  const double chance = static_cast<double>(members) * std::pow(frontier.lost_share(), static_cast<double>(records));
  return std::pow(chance, static_cast<double>(ranks)) > kLikely;
}

bool LossExplains(const Frontier& frontier, const Hang& hang) {
  const bool absent = hang.kind == HangKind::kNotEntered && !hang.called;
  if ((!absent && hang.kind != HangKind::kStopped) || hang.ranks.empty()) return false;
  const bool unseen = std::any_of(hang.ranks.begin(), hang.ranks.end(),
                                  [&](int32_t rank) { return frontier.Unseen(static_cast<size_t>(rank)); });
  const Trace& trace = frontier.trace();
  // Of a job that stands still nowhere in particular: of all of its ranks.
  const size_t members = hang.communicator < 0
                             ? trace.ranks.size()
                             : trace.communicators[static_cast<size_t>(hang.communicator)].members.size();
  return !unseen && LossIsLikely(frontier, members, CallsFrom(frontier, hang), hang.ranks.size());
}

void DropArtefacts(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for,
                   absl::FunctionRef<std::vector<char>(const Hang&)> victims_of, std::vector<Hang>* hangs) {
  Sieve(frontier, waited_for).Run(victims_of, hangs);
}

}  // namespace lockstep
