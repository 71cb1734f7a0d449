#include "detector/hang/trace_frontier.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/hang/member_table.h"
#include "detector/hang/overtaken_calls.h"
#include "detector/hang/without_ends.h"
#include "detector/model/begin_order.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

using Progress = Frontier::Progress;

bool IsDead(const TraceRank& rank) {
  return rank.process_state == ProcessState::kGone || rank.process_state == ProcessState::kZombie;
}

// A rank has few communicators and peers: a short list beats a map.
constexpr size_t kMaxTallies = 32;

void Raise(const TraceOperation& operation, Progress* progress) {
  const auto sequence = static_cast<int64_t>(operation.sequence);
  progress->entered = std::max(progress->entered, sequence);
  progress->first = progress->first < 0 ? sequence : std::min(progress->first, sequence);
  ++progress->records;
  if (!operation.finished()) return;
  progress->finished = std::max(progress->finished, sequence);
  if (IsPointToPoint(operation.kind) || IsSynchronous(operation.kind)) ++progress->ended;
}

void Add(const Progress& from, Progress* to) {
  to->entered = std::max(to->entered, from.entered);
  to->finished = std::max(to->finished, from.finished);
  to->first = to->first < 0 ? from.first : std::min(to->first, from.first);
  to->records += from.records;
  to->ended += from.ended;
}

class Reader {
 public:
  explicit Reader(const Trace& trace)
      : trace_(trace), ranks_(trace.ranks.size()), members_(trace), without_ends_(trace, members_) {}

  Frontier Run() {
    found_.collectives.assign(members_.size(), Progress{});
    found_.entered_by_all.assign(trace_.communicators.size(), -1);
    found_.tells_begun.assign(ranks_, 0);
    found_.tells_called.assign(ranks_, 0);
    std::vector<size_t> unfinished;
    for (size_t rank = 0; rank < ranks_; ++rank) NoteRank(rank, &unfinished);
    TellByAbsence();
    HoldBackOvertaken(unfinished);
    const double lost = std::max(CountHoles(), static_cast<double>(trace_.lost_records));
    if (lost > 0) found_.lost_share = lost / (lost + static_cast<double>(trace_.operations.size()));
    found_.left_by_record = found_.entered_by_all;
    active_only_.assign(ranks_, 0);
    for (size_t rank = 0; rank < ranks_; ++rank) InferFinished(rank);
    for (size_t rank = 0; rank < ranks_; ++rank) InferEnds(rank);
    found_.unseen.assign(ranks_, 0);
    found_.cut_short.assign(ranks_, 0);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const bool looked_at = trace_.ranks[rank].last_seen_ns != kNoTime;
      if (WentFurther(rank)) (looked_at ? found_.cut_short : found_.unseen)[rank] = 1;
    }
    ForgetHostsNotLookedAt();
    FindOpen(unfinished);
    ForgetOpenThatNobodySees();
    FindDead();
    return {trace_, std::move(members_), std::move(found_)};
  }

 private:
  // What the records of one rank say of one communicator, or of one direction to one peer.
  struct Tally {
    int32_t communicator = -1;
    int32_t peer = -1;  // of a Send/Recv
    OperationKind kind = OperationKind::kUnknown;
    Progress progress;
    int64_t finished_by_all = -1;
  };

  Progress& Of(int32_t communicator, int32_t member) {
    return found_.collectives[members_.IndexOf(communicator, member)];
  }

  template <typename Call>
  Progress& SideOf(const Call& call, int32_t member) {
    Frontier::PairProgress& pair = found_.pairs[PairOf(call, member)];
    return call.kind == OperationKind::kSend ? pair.send : pair.receive;
  }

  // Numbers of calls may be far apart: their sum fits no integer.
  double CountHoles() const {
    double holes = 0;
    const auto count = [&](const Progress& progress) {
      holes += static_cast<double>(std::max<int64_t>(0, progress.Holes()));
    };
    std::for_each(found_.collectives.begin(), found_.collectives.end(), count);
    for (const auto& [pair, progress] : found_.pairs) {
      count(progress.send);
      count(progress.receive);
    }
    return holes;
  }

  void FindDead() {
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (IsDead(trace_.ranks[rank])) found_.died.push_back(static_cast<int32_t>(rank));
    }
    if (2 * found_.died.size() > ranks_) found_.died.clear();
  }

  void NoteRank(size_t rank_index, std::vector<size_t>* unfinished) {
    bool ended_some = false, began_some = false, began_not_all = false;
    for (size_t i = trace_.first_operation[rank_index]; i < trace_.first_operation[rank_index + 1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      Tally& tally = TallyOf(rank_index, operation);
      Raise(operation, &tally.progress);
      if (!operation.finished()) {
        unfinished->push_back(i);
      } else if (!IsPointToPoint(operation.kind) && IsSynchronous(operation.kind)) {
        tally.finished_by_all = std::max(tally.finished_by_all, static_cast<int64_t>(operation.sequence));
      }
      if (operation.started() && TellsCall(operation.quality, operation.enqueue_ns, operation.start_ns)) {
        found_.tells_called[rank_index] = 1;
      }
      ended_some = ended_some || operation.finished();
      began_some = began_some || (operation.started() && !operation.finished());
      began_not_all = began_not_all || !operation.started();
    }
    // Where hosts run ahead of GPUs that nobody sees, what is told as the begin is the call.
    const bool early = BeginsOutOfTurn(trace_.OperationsOf(rank_index), /*by_kind=*/true);
    if (early) found_.tells_called[rank_index] = 0;
    found_.tells_begun[rank_index] = found_.tells_called[rank_index];
    if (ended_some && (began_some || began_not_all)) {  // a dump of active work may know begins by halves
      if (!early) in_flight_.push_back(rank_index);
      lack_begins_ += began_not_all ? 1 : 0;
      by_absence_ += began_some && began_not_all ? 1 : 0;
    }
    StoreTallies(rank_index);
  }

  // Of what is in flight, some has a begin and some has none, on some of the ranks: recorders tell the one from the
  // other, also where all that a rank has in flight has begun. But those that tell calls as begins do not.
  void TellByAbsence() {
    if (by_absence_ == 0 || static_cast<double>(by_absence_) < kFew * static_cast<double>(lack_begins_)) return;
    for (const size_t rank : in_flight_) found_.tells_begun[rank] = 1;
  }

  // What stands, though later calls of its communicator have ended, has been left by nobody; nor have those.
  void HoldBackOvertaken(const std::vector<size_t>& unfinished) {
    for (const auto& [communicator, open] : FindOvertakenCalls(trace_, members_, found_.collectives, unfinished)) {
      const auto c = static_cast<size_t>(communicator);
      const auto size = static_cast<int32_t>(trace_.communicators[c].members.size());
      for (int32_t member = 0; member < size; ++member) {
        Progress& progress = Of(communicator, member);
        progress.finished = std::min(progress.finished, open - 1);
      }
      found_.entered_by_all[c] = std::min(found_.entered_by_all[c], open - 1);
    }
  }

  Tally& TallyOf(size_t rank_index, const TraceOperation& operation) {
    const bool one_sided = IsPointToPoint(operation.kind);
    const int32_t peer = one_sided ? operation.peer : -1;
    const OperationKind kind = one_sided ? operation.kind : OperationKind::kUnknown;
    for (Tally& known : tallies_) {
      if (known.communicator == operation.communicator && known.peer == peer && known.kind == kind) return known;
    }
    if (tallies_.size() == kMaxTallies) StoreTallies(rank_index);
    return tallies_.emplace_back(Tally{.communicator = operation.communicator, .peer = peer, .kind = kind});
  }

  void StoreTallies(size_t rank_index) {
    for (const Tally& tally : tallies_) {
      const int32_t member = members_.MemberOf(rank_index, tally.communicator);
      if (member < 0) continue;
      if (IsPointToPoint(tally.kind)) {
        Add(tally.progress, &SideOf(tally, member));
      } else {
        const auto communicator = static_cast<size_t>(tally.communicator);
        Add(tally.progress, &Of(tally.communicator, member));
        found_.entered_by_all[communicator] = std::max(found_.entered_by_all[communicator], tally.finished_by_all);
      }
    }
    tallies_.clear();
  }

  // Of a rank that tells no ends: that another has left a call, and it has not, can nobody know. A record that one of
  // all has lost is no sign either.
  void InferEnds(size_t rank_index) {
    if (!without_ends_.TellsNoEnds(rank_index)) return;
    for (const MemberTable::Membership& place : members_.Of(rank_index)) {
      const int64_t ended = std::max(without_ends_.EndedByAll(place.communicator),
                                     found_.left_by_record[static_cast<size_t>(place.communicator)]);
      int64_t& finished = Of(place.communicator, place.member).finished;
      finished = std::max(finished, ended);
      int64_t& entered_by_all = found_.entered_by_all[static_cast<size_t>(place.communicator)];
      entered_by_all = std::max(entered_by_all, ended);
    }
    for (const TraceOperation& operation : trace_.OperationsOf(rank_index)) {
      const int32_t member = members_.MemberOf(rank_index, operation.communicator);
      if (member < 0 || !IsPointToPoint(operation.kind)) continue;
      const Frontier::PairKey pair = PairOf(operation, member);
      const Frontier::PairProgress& sides = found_.pairs[pair];
      const int64_t ended = std::max({without_ends_.EndedByBoth(pair), sides.send.finished, sides.receive.finished});
      int64_t& finished = SideOf(operation, member).finished;
      finished = std::max(finished, ended);
    }
  }

  // A dump of active work holds no finished operation. Operations of one communicator end in order, so that whatever
  // comes before the first that it holds has ended.
  void InferFinished(size_t rank_index) {
    const absl::Span<const TraceOperation> operations = trace_.OperationsOf(rank_index);
    if (without_ends_.TellsNoEnds(rank_index) || !without_ends_.EndsNothing(rank_index)) return;
    active_only_[rank_index] = 1;
    for (auto it = operations.rbegin(); it != operations.rend(); ++it) {
      const int32_t member = members_.MemberOf(rank_index, it->communicator);
      if (member < 0) continue;
      const int64_t before = static_cast<int64_t>(it->sequence) - 1;
      if (IsPointToPoint(it->kind)) {
        SideOf(*it, member).finished = before;
      } else {
        Of(it->communicator, member).finished = before;
      }
    }
    for (const MemberTable::Membership& place : members_.Of(rank_index)) {
      int64_t& by_all = found_.entered_by_all[static_cast<size_t>(place.communicator)];
      by_all = std::max(by_all, Of(place.communicator, place.member).finished);
    }
  }

  // One record may be lost by chance; two operations of one communicator that others have left, and of which the rank
  // has no record at all, nor of any later one, say that its records end early.
  bool WentFurther(size_t rank_index) {
    if (active_only_[rank_index] != 0 || StandsWithTheOthers(rank_index)) return false;
    const absl::Span<const MemberTable::Membership> places = members_.Of(rank_index);
    return std::any_of(places.begin(), places.end(), [&](const MemberTable::Membership& place) {
      return found_.entered_by_all[static_cast<size_t>(place.communicator)] >
             Of(place.communicator, place.member).entered + 1;
    });
  }

  // It is inside of an operation that nobody has left: its records reach as far as anybody's, whatever is missing
  // among them.
  bool StandsWithTheOthers(size_t rank_index) const {
    const absl::Span<const TraceOperation> operations = trace_.OperationsOf(rank_index);
    return std::any_of(operations.begin(), operations.end(), [this](const TraceOperation& operation) {
      return operation.started() && !operation.finished() && IsSynchronous(operation.kind) &&
             !IsPointToPoint(operation.kind) &&
             found_.entered_by_all[static_cast<size_t>(operation.communicator)] <
                 static_cast<int64_t>(operation.sequence);
    });
  }

  // Where most ranks were looked at, or all but those of one host, the records of a host of which none was are of an
  // earlier time.
  void ForgetHostsNotLookedAt() {
    const std::vector<TraceRank>& ranks = trace_.ranks;
    std::vector<char> looked_at(trace_.hosts.size(), 0);
    size_t count = 0;
    for (const TraceRank& rank : ranks) {
      if (rank.last_seen_ns == kNoTime) continue;
      ++count;
      if (rank.host >= 0) looked_at[static_cast<size_t>(rank.host)] = 1;
    }
    const bool all_but_one = std::count(looked_at.begin(), looked_at.end(), 0) <= 1;
    if (count == 0 || (2 * count <= ranks.size() && !all_but_one)) return;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const bool silent = ranks[rank].host >= 0 && looked_at[static_cast<size_t>(ranks[rank].host)] == 0;
      if (silent && !trace_.OperationsOf(rank).empty()) found_.unseen[rank] = 1;
    }
  }

  bool StillOpen(size_t rank_index, const TraceOperation& operation) {
    const int32_t member = members_.MemberOf(rank_index, operation.communicator);
    if (member < 0) return false;
    const auto sequence = static_cast<int64_t>(operation.sequence);
    if (IsPointToPoint(operation.kind)) return sequence > SideOf(operation, member).finished;
    return sequence > Of(operation.communicator, member).finished;
  }

  void FindOpen(const std::vector<size_t>& unfinished) {
    found_.first_open.assign(ranks_ + 1, 0);
    auto next = unfinished.begin();
    for (size_t rank = 0; rank < ranks_; ++rank) {
      found_.first_open[rank] = found_.open.size();
      for (; next != unfinished.end() && *next < trace_.first_operation[rank + 1]; ++next) {
        if (found_.unseen[rank] != 0 || found_.cut_short[rank] != 0 || !StillOpen(rank, trace_.operations[*next]))
          continue;
        if (found_.open.size() - found_.first_open[rank] < kMaxOpenOperations) {
          found_.open.push_back(*next);
        } else {
          ++found_.left_out;
        }
      }
    }
    found_.first_open[ranks_] = found_.open.size();
  }

  // Where ranks tell ends and none of them is inside of anything, those that tell none are not either, as far as
  // anybody knows: what they called last has ended, or its record is lost on the other side.
  void ForgetOpenThatNobodySees() {
    bool any_tells = false;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (without_ends_.EndsNothing(rank)) continue;
      if (found_.first_open[rank + 1] > found_.first_open[rank]) return;
      any_tells = any_tells || !trace_.OperationsOf(rank).empty();
    }
    if (!any_tells) return;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const bool has_open = found_.first_open[rank + 1] > found_.first_open[rank];
      if (has_open && !without_ends_.TellsNoEnds(rank)) return;
    }
    found_.open.clear();
    found_.first_open.assign(ranks_ + 1, 0);
  }

  const Trace& trace_;
  const size_t ranks_;
  MemberTable members_;
  const WithoutEnds without_ends_;
  Frontier::Content found_;
  std::vector<Tally> tallies_;     // of the rank at hand
  std::vector<char> active_only_;  // no finished operation is recorded
  std::vector<size_t> in_flight_;  // rank indices that ended something, and have something in flight
  size_t lack_begins_ = 0;         // of these, how many have not begun all of it
  size_t by_absence_ = 0;          // and how many of those have begun some of it
};

}  // namespace

Frontier FrontierOf(const Trace& trace) { return Reader(trace).Run(); }

}  // namespace lockstep
