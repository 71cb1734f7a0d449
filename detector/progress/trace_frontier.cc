#include "detector/progress/trace_frontier.h"

#include <algorithm>

namespace lockstep {
namespace {

bool FromHostCallsOnly(TimingQuality quality) {
  return quality == TimingQuality::kHostCall || quality == TimingQuality::kHostEnqueue;
}

// A rank has few communicators and peers: a short list beats a map.
constexpr size_t kMaxTallies = 32;

void Raise(const TraceOperation& operation, TraceFrontier::Progress* progress) {
  const auto sequence = static_cast<int64_t>(operation.sequence);
  progress->entered = std::max(progress->entered, sequence);
  progress->first = progress->first < 0 ? sequence : std::min(progress->first, sequence);
  ++progress->records;
  if (operation.finished()) progress->finished = std::max(progress->finished, sequence);
}

void Add(const TraceFrontier::Progress& from, TraceFrontier::Progress* to) {
  to->entered = std::max(to->entered, from.entered);
  to->finished = std::max(to->finished, from.finished);
  to->first = to->first < 0 ? from.first : std::min(to->first, from.first);
  to->records += from.records;
}

}  // namespace

bool IsPointToPoint(OperationKind kind) { return kind == OperationKind::kSend || kind == OperationKind::kRecv; }

TraceFrontier::TraceFrontier(const Trace& trace) : trace_(&trace) {
  IndexMembers();
  const size_t ranks = trace.ranks.size();
  tells_begun_.assign(ranks, 0);
  std::vector<size_t> unfinished;
  for (size_t rank = 0; rank < ranks; ++rank) NoteRank(rank, &unfinished);
  int64_t holes = 0;
  for (const Progress& progress : collectives_) holes += std::max<int64_t>(0, progress.Holes());
  const double lost = std::max(static_cast<double>(holes), static_cast<double>(trace.lost_records));
  if (lost > 0) lost_share_ = lost / (lost + static_cast<double>(trace.operations.size()));
  active_only_.assign(ranks, 0);
  for (size_t rank = 0; rank < ranks; ++rank) InferFinished(rank);
  unseen_.assign(ranks, 0);
  for (size_t rank = 0; rank < ranks; ++rank) unseen_[rank] = WentFurther(rank) ? 1 : 0;
  ForgetHostsNotLookedAt();
  FindOpen(unfinished);
}

void TraceFrontier::FindOpen(const std::vector<size_t>& unfinished) {
  const size_t ranks = trace_->ranks.size();
  first_open_.assign(ranks + 1, 0);
  auto next = unfinished.begin();
  for (size_t rank = 0; rank < ranks; ++rank) {
    first_open_[rank] = open_.size();
    for (; next != unfinished.end() && *next < trace_->first_operation[rank + 1]; ++next) {
      if (unseen_[rank] != 0 || !StillOpen(rank, trace_->operations[*next])) continue;
      if (open_.size() - first_open_[rank] < kMaxOpenOperations) {
        open_.push_back(*next);
      } else {
        ++left_out_;
      }
    }
  }
  first_open_[ranks] = open_.size();
}

void TraceFrontier::IndexMembers() {
  const Trace& trace = *trace_;
  first_member_.assign(trace.communicators.size() + 1, 0);
  first_membership_.assign(trace.ranks.size() + 1, 0);
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    first_member_[c + 1] = first_member_[c] + trace.communicators[c].members.size();
    for (const int32_t rank : trace.communicators[c].members) {
      if (rank >= 0) ++first_membership_[static_cast<size_t>(rank) + 1];
    }
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) first_membership_[rank + 1] += first_membership_[rank];
  collectives_.assign(first_member_.back(), Progress{});
  entered_by_all_.assign(trace.communicators.size(), -1);
  memberships_.resize(first_membership_.back());
  std::vector<size_t> next(first_membership_.begin(), first_membership_.end() - 1);
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    const std::vector<int32_t>& members = trace.communicators[c].members;
    for (size_t m = 0; m < members.size(); ++m) {
      if (members[m] < 0) continue;
      memberships_[next[static_cast<size_t>(members[m])]++] = {static_cast<int32_t>(c), static_cast<int32_t>(m)};
    }
  }
}

void TraceFrontier::NoteRank(size_t rank_index, std::vector<size_t>* unfinished) {
  for (size_t i = trace_->first_operation[rank_index]; i < trace_->first_operation[rank_index + 1]; ++i) {
    const TraceOperation& operation = trace_->operations[i];
    Tally& tally = TallyOf(rank_index, operation);
    Raise(operation, &tally.progress);
    if (!operation.finished()) {
      unfinished->push_back(i);
    } else if (!IsPointToPoint(operation.kind) && IsSynchronous(operation.kind)) {
      tally.finished_by_all = std::max(tally.finished_by_all, static_cast<int64_t>(operation.sequence));
    }
    if (operation.started() && operation.start_ns > operation.enqueue_ns && !FromHostCallsOnly(operation.quality)) {
      tells_begun_[rank_index] = 1;
    }
  }
  StoreTallies(rank_index);
}

TraceFrontier::Tally& TraceFrontier::TallyOf(size_t rank_index, const TraceOperation& operation) {
  const bool one_sided = IsPointToPoint(operation.kind);
  const int32_t peer = one_sided ? operation.peer : -1;
  const OperationKind kind = one_sided ? operation.kind : OperationKind::kUnknown;
  for (Tally& known : tallies_) {
    if (known.communicator == operation.communicator && known.peer == peer && known.kind == kind) return known;
  }
  if (tallies_.size() == kMaxTallies) StoreTallies(rank_index);
  return tallies_.emplace_back(Tally{.communicator = operation.communicator, .peer = peer, .kind = kind});
}

void TraceFrontier::StoreTallies(size_t rank_index) {
  for (const Tally& tally : tallies_) {
    const int32_t member = MemberOf(rank_index, tally.communicator);
    if (member < 0) continue;
    if (tally.kind == OperationKind::kSend) {
      Add(tally.progress, &pairs_[{tally.communicator, member, tally.peer}].send);
    } else if (tally.kind == OperationKind::kRecv) {
      Add(tally.progress, &pairs_[{tally.communicator, tally.peer, member}].receive);
    } else {
      const auto communicator = static_cast<size_t>(tally.communicator);
      Add(tally.progress, &collectives_[first_member_[communicator] + static_cast<size_t>(member)]);
      entered_by_all_[communicator] = std::max(entered_by_all_[communicator], tally.finished_by_all);
    }
  }
  tallies_.clear();
}

// A dump of active work holds no finished operation. Operations of one communicator end in order, so that whatever
// comes before the first that it holds has ended.
void TraceFrontier::InferFinished(size_t rank_index) {
  const absl::Span<const TraceOperation> operations = trace_->OperationsOf(rank_index);
  const auto finished = [](const TraceOperation& operation) { return operation.finished(); };
  if (std::any_of(operations.begin(), operations.end(), finished)) return;
  active_only_[rank_index] = 1;
  for (auto it = operations.rbegin(); it != operations.rend(); ++it) {
    const int32_t member = MemberOf(rank_index, it->communicator);
    if (member < 0) continue;
    const int64_t before = static_cast<int64_t>(it->sequence) - 1;
    if (it->kind == OperationKind::kSend) {
      pairs_[{it->communicator, member, it->peer}].send.finished = before;
    } else if (it->kind == OperationKind::kRecv) {
      pairs_[{it->communicator, it->peer, member}].receive.finished = before;
    } else {
      const auto communicator = static_cast<size_t>(it->communicator);
      collectives_[first_member_[communicator] + static_cast<size_t>(member)].finished = before;
    }
  }
  for (const Membership& place : MembershipsOf(rank_index)) {
    int64_t& by_all = entered_by_all_[static_cast<size_t>(place.communicator)];
    by_all = std::max(by_all, Of(place.communicator, place.member).finished);
  }
}

// One record may be lost by chance; two operations of one communicator that others have left, and of which the rank
// has no record at all, nor of any later one, say that its records end early.
bool TraceFrontier::WentFurther(size_t rank_index) const {
  if (active_only_[rank_index] != 0) return false;
  const absl::Span<const Membership> places = MembershipsOf(rank_index);
  return std::any_of(places.begin(), places.end(), [&](const Membership& place) {
    return EnteredByAll(place.communicator) > Of(place.communicator, place.member).entered + 1;
  });
}

// Where most ranks were looked at, the records of a host of which none was are of an earlier time.
void TraceFrontier::ForgetHostsNotLookedAt() {
  const std::vector<TraceRank>& ranks = trace_->ranks;
  std::vector<char> looked_at(trace_->hosts.size(), 0);
  size_t count = 0;
  for (const TraceRank& rank : ranks) {
    if (rank.last_seen_ns == kNoTime) continue;
    ++count;
    if (rank.host >= 0) looked_at[static_cast<size_t>(rank.host)] = 1;
  }
  if (2 * count <= ranks.size()) return;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool silent = ranks[rank].host >= 0 && looked_at[static_cast<size_t>(ranks[rank].host)] == 0;
    if (silent && !trace_->OperationsOf(rank).empty()) unseen_[rank] = 1;
  }
}

bool TraceFrontier::StillOpen(size_t rank_index, const TraceOperation& operation) const {
  const int32_t member = MemberOf(rank_index, operation.communicator);
  if (member < 0) return false;
  const auto sequence = static_cast<int64_t>(operation.sequence);
  if (operation.kind == OperationKind::kSend) {
    return sequence > Sends(operation.communicator, member, operation.peer).finished;
  }
  if (operation.kind == OperationKind::kRecv) {
    return sequence > Receives(operation.communicator, operation.peer, member).finished;
  }
  return sequence > Of(operation.communicator, member).finished;
}

TraceFrontier::Progress TraceFrontier::Sends(int32_t communicator, int32_t source, int32_t destination) const {
  const auto found = pairs_.find({communicator, source, destination});
  return found == pairs_.end() ? Progress{} : found->second.send;
}

TraceFrontier::Progress TraceFrontier::Receives(int32_t communicator, int32_t source, int32_t destination) const {
  const auto found = pairs_.find({communicator, source, destination});
  return found == pairs_.end() ? Progress{} : found->second.receive;
}

int32_t TraceFrontier::MemberOf(size_t rank_index, int32_t communicator) const {
  const absl::Span<const Membership> places = MembershipsOf(rank_index);
  const auto found =
      std::lower_bound(places.begin(), places.end(), communicator,
                       [](const Membership& place, int32_t wanted) { return place.communicator < wanted; });
  return found == places.end() || found->communicator != communicator ? -1 : found->member;
}

}  // namespace lockstep
