#include "detector/hang/recorded_progress.h"

#include <algorithm>
#include <utility>

#include "base/shares.h"
#include "detector/model/begin_order.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

using Progress = Frontier::Progress;

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

class ProgressReader {
 public:
  ProgressReader(const Trace& trace, const MemberTable& members) : trace_(trace), members_(members) {}

  RecordedProgress Run() {
    const size_t ranks = trace_.ranks.size();
    found_.collectives.assign(members_.size(), Progress{});
    found_.entered_by_all.assign(trace_.communicators.size(), -1);
    found_.tells_begun.assign(ranks, 0);
    found_.tells_called.assign(ranks, 0);
    for (size_t rank = 0; rank < ranks; ++rank) NoteRank(rank);
    TellByAbsence();
    return std::move(found_);
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

  void NoteRank(size_t rank_index) {
    bool ended_some = false, began_some = false, began_not_all = false;
    for (size_t i = trace_.first_operation[rank_index]; i < trace_.first_operation[rank_index + 1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      Tally& tally = TallyOf(rank_index, operation);
      Raise(operation, &tally.progress);
      if (!operation.finished()) {
        found_.unfinished.push_back(i);
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

  // On some of the ranks, some of what is in flight has a begin and some has none: recorders tell the one from the
  // other. That holds for ranks of which all has begun as well, but not for recorders that tell calls as begins, nor
  // where most tell the begins of what has finished: those that do not know none.
  void TellByAbsence() {
    if (by_absence_ == 0 || static_cast<double>(by_absence_) < kFew * static_cast<double>(lack_begins_)) return;
    const auto telling = std::count_if(in_flight_.begin(), in_flight_.end(),
                                       [&](size_t rank) { return found_.tells_called[rank] != 0; });
    if (static_cast<double>(telling) >= kMainPart * static_cast<double>(in_flight_.size())) return;
    for (const size_t rank : in_flight_) found_.tells_begun[rank] = 1;
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
        Frontier::PairProgress& pair = found_.pairs[PairOf(tally, member)];
        Add(tally.progress, tally.kind == OperationKind::kSend ? &pair.send : &pair.receive);
      } else {
        const auto communicator = static_cast<size_t>(tally.communicator);
        Add(tally.progress, &found_.collectives[members_.IndexOf(tally.communicator, member)]);
        found_.entered_by_all[communicator] = std::max(found_.entered_by_all[communicator], tally.finished_by_all);
      }
    }
    tallies_.clear();
  }

  const Trace& trace_;
  const MemberTable& members_;
  RecordedProgress found_;
  std::vector<Tally> tallies_;     // of the rank at hand
  std::vector<size_t> in_flight_;  // rank indices that ended something, and have something in flight
  size_t lack_begins_ = 0;         // of these, how many have not begun all of it
  size_t by_absence_ = 0;          // and how many of those have begun some of it
};

}  // namespace

RecordedProgress ReadProgress(const Trace& trace, const MemberTable& members) {
  return ProgressReader(trace, members).Run();
}

}  // namespace lockstep
