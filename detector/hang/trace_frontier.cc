#include "detector/hang/trace_frontier.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/hang/hang.h"
#include "detector/hang/member_table.h"
#include "detector/hang/overtaken_calls.h"
#include "detector/hang/recorded_progress.h"
#include "detector/hang/without_ends.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

using Progress = Frontier::Progress;

// Records that are missing between others. Numbers of calls may be far apart: their sum fits no integer.
double CountHoles(const Frontier::Content& content) {
  double holes = 0;
  const auto count = [&](const Progress& progress) {
    holes += static_cast<double>(std::max<int64_t>(0, progress.Holes()));
  };
  std::for_each(content.collectives.begin(), content.collectives.end(), count);
  for (const auto& [pair, progress] : content.pairs) {
    count(progress.send);
    count(progress.receive);
  }
  return holes;
}

// Rank indices; none where most are dead.
std::vector<int32_t> DiedWhileOthersLive(const Trace& trace) {
  std::vector<int32_t> died;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (IsDead(trace.ranks[rank])) died.push_back(static_cast<int32_t>(rank));
  }
  if (2 * died.size() > trace.ranks.size()) died.clear();
  return died;
}

// Where most ranks were looked at, or all but those of one host, the records of a host of which none was are of an
// earlier time.
void ForgetHostsNotLookedAt(const Trace& trace, std::vector<char>* unseen) {
  const std::vector<TraceRank>& ranks = trace.ranks;
  std::vector<char> looked_at(trace.hosts.size(), 0);
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
    if (silent && !trace.OperationsOf(rank).empty()) (*unseen)[rank] = 1;
  }
}

class Reader {
 public:
  explicit Reader(const Trace& trace)
      : trace_(trace), ranks_(trace.ranks.size()), members_(trace), without_ends_(trace, members_) {}

  Frontier Run() {
    RecordedProgress recorded = ReadProgress(trace_, members_);
    found_.collectives = std::move(recorded.collectives);
    found_.entered_by_all = std::move(recorded.entered_by_all);
    found_.pairs = std::move(recorded.pairs);
    found_.tells_begun = std::move(recorded.tells_begun);
    found_.tells_called = std::move(recorded.tells_called);
    HoldBackOvertaken(recorded.unfinished);
    const double lost = std::max(CountHoles(found_), static_cast<double>(trace_.lost_records));
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
    ForgetHostsNotLookedAt(trace_, &found_.unseen);
    FindOpen(recorded.unfinished);
    ForgetOpenThatNobodySees();
    found_.died = DiedWhileOthersLive(trace_);
    return {trace_, std::move(members_), std::move(found_)};
  }

 private:
  Progress& Of(int32_t communicator, int32_t member) {
    return found_.collectives[members_.IndexOf(communicator, member)];
  }

  template <typename Call>
  Progress& SideOf(const Call& call, int32_t member) {
    Frontier::PairProgress& pair = found_.pairs[PairOf(call, member)];
    return call.kind == OperationKind::kSend ? pair.send : pair.receive;
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
  std::vector<char> active_only_;  // no finished operation is recorded
};

}  // namespace

Frontier FrontierOf(const Trace& trace) { return Reader(trace).Run(); }

}  // namespace lockstep
