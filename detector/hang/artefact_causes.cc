#include "detector/hang/artefact_causes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/shares.h"
#include "detector/hang/wait_graph.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// Artefacts that are expected in the whole trace: with fewer than this, nine traces of ten have none.
constexpr double kLikely = kFew;

enum Sureness : int32_t { kLossMayShowIt, kMuchLossMayShowIt, kNoLossShowsIt };

class Sieve {
 public:
  Sieve(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for)
      : frontier_(frontier), trace_(frontier.trace()), waited_for_(waited_for) {
    ranks_on_host_.assign(trace_.hosts.size(), 0);
    unseen_on_host_.assign(trace_.hosts.size(), 0);
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      if (trace_.ranks[rank].host < 0) continue;
      const auto host = static_cast<size_t>(trace_.ranks[rank].host);
      ++ranks_on_host_[host];
      if (frontier.Unseen(rank)) ++unseen_on_host_[host];
    }
  }

  void Run(std::vector<Hang>* hangs) const {
    Sureness surest = kLossMayShowIt;
    for (const Hang& hang : *hangs) surest = std::max(surest, SurenessOf(hang));
    std::erase_if(*hangs, [&](const Hang& hang) { return SurenessOf(hang) < surest; });
    if (surest == kLossMayShowIt) KeepTheMostAwaited(hangs);
    for (Hang& hang : *hangs) {
      if (hang.kind == HangKind::kNotEntered) LeaveArtefacts(&hang.ranks);
    }
  }

 private:
  // Losses here and there make single ranks look as if their records ended early, but not most of a host.
  bool IsSure(int32_t rank) const {
    const TraceRank& who = trace_.ranks[static_cast<size_t>(rank)];
    if (IsGone(who)) return true;
    if (who.host < 0 || !frontier_.Unseen(static_cast<size_t>(rank))) return false;
    return 2 * unseen_on_host_[static_cast<size_t>(who.host)] >= ranks_on_host_[static_cast<size_t>(who.host)];
  }

  Sureness SurenessOf(const Hang& hang) const {
    if (hang.kind == HangKind::kMismatch) return kNoLossShowsIt;
    if (std::any_of(hang.ranks.begin(), hang.ranks.end(), [this](int32_t rank) { return IsSure(rank); })) {
      return kNoLossShowsIt;
    }
    const bool partly_seen = hang.kind == HangKind::kTransfer && hang.waiting < static_cast<int32_t>(hang.ranks.size());
    const bool not_called = hang.kind == HangKind::kNotEntered && !hang.called;
    return not_called || partly_seen ? kLossMayShowIt : kMuchLossMayShowIt;
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

  // Several ranks are missing from one operation: the sure ones, or those that most wait for.
  void LeaveArtefacts(std::vector<int32_t>* ranks) const {
    if (std::any_of(ranks->begin(), ranks->end(), [this](int32_t rank) { return IsSure(rank); })) {
      std::erase_if(*ranks, [this](int32_t rank) { return !IsSure(rank); });
      return;
    }
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

  const Frontier& frontier_;
  const Trace& trace_;
  const std::vector<std::vector<int32_t>>& waited_for_;
  std::vector<int32_t> ranks_on_host_;
  std::vector<int32_t> unseen_on_host_;
};

}  // namespace

bool ArtefactsAreLikely(const Frontier& frontier) {
  return static_cast<double>(frontier.trace().ranks.size()) * frontier.lost_share() > kLikely;
}

void DropArtefacts(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for,
                   std::vector<Hang>* hangs) {
  Sieve(frontier, waited_for).Run(hangs);
}

}  // namespace lockstep
