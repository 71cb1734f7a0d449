// How far every rank of a job has come: the highest operation that it entered and finished in each communicator and
// towards each peer, and the operations that it entered and has not finished.
//
// All that the search for hangs knows of a job. Two readers fill it in: FrontierOf (trace_frontier.h) from the records
// of operations that a file holds, ReadRoster (live_frontier.h) from what ranks report of themselves while the job
// runs. Only the second knows when each rank was heard last, all on one clock: that is the Watch, and it stands for
// what files have to make up for by precedents.
// Sequence numbers rise by one per communicator; -1 stands for "none". The trace must outlive the frontier; of a
// watched job it holds nothing but what is open. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_HANG_FRONTIER_H_
#define LOCKSTEP_DETECTOR_HANG_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "detector/hang/member_table.h"
#include "detector/model/trace.h"

namespace lockstep {

bool IsPointToPoint(OperationKind kind);

// What is known of a job only while it runs. Vectors are by rank index, or by host index where that is said.
struct Watch {
  int64_t now_ns = 0;
  int64_t patience_ns = 0;   // the shortest of any communicator: inside an operation for at least this long = stuck
  int64_t freshness_ns = 0;  // a report this much newer than a call of others proves that the rank has not called
  double longest_usual_step_seconds = 0;  // 0 = unknown
  std::vector<int64_t> patience_of_ns;    // by communicator
  std::vector<int64_t> called_ns;         // by operation; its enqueue_ns, since when it counts, may be later
  std::vector<char> tells_open;           // by rank: all that it has in flight is known
  std::vector<char> sees_begins;          // by rank: its recorder would show it, had one of these begun
  std::vector<char> excused;              // finalized, disabled, or it may wait where nobody knows for whom
  std::vector<char> moving;               // has done something lately: it is on its way
  std::vector<int64_t> host_silent_ns;    // by host; 0 = it reports, or the job goes on without it
};

class Frontier {
 public:
  struct Progress {
    int64_t entered = -1;
    int64_t finished = -1;
    int64_t first = -1;
    int64_t records = 0;
    int64_t ended = 0;  // of these, with an end, which others must have entered; not of a watched job
    // Records that are missing between the first and the last.
    int64_t Holes() const { return records > 0 ? entered - first - (records - 1) : 0; }
  };
  struct PairProgress {
    Progress send, receive;
  };
  using PairKey = std::tuple<int32_t, int32_t, int32_t>;  // communicator, source, destination

  // What a reader finds out. Vectors named by rank index unless something else is said.
  struct Content {
    std::vector<Progress> collectives;                 // by MemberTable::IndexOf
    std::vector<int64_t> entered_by_all;               // by communicator
    std::vector<int64_t> left_by_record;               // by communicator; empty = as entered_by_all
    absl::flat_hash_map<PairKey, PairProgress> pairs;  // those that anything is known of
    std::vector<size_t> open;                          // operations, rank after rank, by rising enqueue time
    std::vector<size_t> first_open;                    // and one past the last
    std::vector<char> tells_begun;
    std::vector<char> tells_called;
    std::vector<char> unseen;
    std::vector<char> cut_short;
    std::vector<int32_t> died;  // rank indices of processes that are dead while others live
    uint64_t left_out = 0;
    double lost_share = 0;
    std::optional<Watch> watch;
  };

  Frontier(const Trace& trace, MemberTable members, Content content)
      : trace_(&trace), members_(std::move(members)), content_(std::move(content)) {}

  const Trace& trace() const { return *trace_; }
  // nullptr = nobody watched: records are all there is.
  const Watch* watch() const { return content_.watch.has_value() ? &*content_.watch : nullptr; }

  // Indices into trace.operations, by rising enqueue time.
  absl::Span<const size_t> OpenOf(size_t rank_index) const {
    const size_t first = content_.first_open[rank_index];
    return absl::MakeConstSpan(content_.open).subspan(first, content_.first_open[rank_index + 1] - first);
  }
  // When its host called an operation.
  int64_t CalledNs(size_t index) const {
    return watch() != nullptr ? watch()->called_ns[index] : trace_->operations[index].enqueue_ns;
  }
  bool any_open() const { return !content_.open.empty(); }
  uint64_t open_left_out() const { return content_.left_out; }

  // Collectives of one member.
  const Progress& Of(int32_t communicator, int32_t member) const {
    return content_.collectives[members_.IndexOf(communicator, member)];
  }
  // Highest collective that some member has left and that nobody leaves before all have entered: all members have
  // entered it, whatever is known of themselves.
  int64_t EnteredByAll(int32_t communicator) const {
    return content_.entered_by_all[static_cast<size_t>(communicator)];
  }

  // The same, where a record of its end shows it: in a dump of what is in flight, a lost record looks like an end.
  int64_t LeftByRecord(int32_t communicator) const {
    const std::vector<int64_t>& left =
        content_.left_by_record.empty() ? content_.entered_by_all : content_.left_by_record;
    return left[static_cast<size_t>(communicator)];
  }

  // Those that anything is known of.
  const absl::flat_hash_map<PairKey, PairProgress>& pairs() const { return content_.pairs; }
  // One side of the transfers from `source` to `destination`, both communicator ranks.
  Progress Sends(int32_t communicator, int32_t source, int32_t destination) const;
  Progress Receives(int32_t communicator, int32_t source, int32_t destination) const;

  int32_t MemberOf(size_t rank_index, int32_t communicator) const {
    return members_.MemberOf(rank_index, communicator);
  }

  // How many of all records are missing, as counters and gaps in the sequences tell: the absence of one more proves
  // the less. 0 to 1.
  double lost_share() const { return content_.lost_share; }

  // Processes that died while others lived on; when most are dead, the job is over and death tells nothing.
  absl::Span<const int32_t> died() const { return content_.died; }

  // Nothing is known of where the rank stands now, and silence is a sign: its records end before what others prove that
  // it entered and nobody knows when they were read, or nobody looked at its host while most ranks were looked at.
  bool Unseen(size_t rank_index) const { return content_.unseen[rank_index] != 0; }

  // Its recorder was looked at, and yet its records end before what others prove: they were lost. Neither cause nor
  // victim.
  bool CutShort(size_t rank_index) const { return content_.cut_short[rank_index] != 0; }

  // Anything at all is known of what the rank did.
  bool IsKnown(size_t rank_index) const { return watch() != nullptr || !trace_->OperationsOf(rank_index).empty(); }

  // Whether the rank's records tell the moment at which its GPU began an operation from the call that enqueued it.
  bool TellsBegun(size_t rank_index) const { return content_.tells_begun[rank_index] != 0; }
  // Whether CalledNs is known to be the time of the call: else it may stand for the begin.
  bool TellsCalled(size_t rank_index) const { return content_.tells_called[rank_index] != 0; }

  // Of a watched job: whether the rank has been inside its open operation for too long. True for all records.
  bool IsStuckIn(size_t rank_index, const TraceOperation& operation) const;
  // Whether the rank was heard so late that it had not made a call that others made at `since_ns`.
  bool ProvesAbsence(size_t rank_index, int64_t since_ns) const;
  // What is known of the rank says nothing about what it does.
  bool IsExcused(size_t rank_index) const { return watch() != nullptr && watch()->excused[rank_index] != 0; }
  // Of a watched job: the rank may have called transfers that nobody tells of.
  bool HidesCalls(size_t rank_index) const { return watch() != nullptr && watch()->tells_open[rank_index] == 0; }
  bool IsMoving(size_t rank_index) const { return watch() != nullptr && watch()->moving[rank_index] != 0; }

 private:
  const Trace* trace_;
  MemberTable members_;
  Content content_;
};

// Sender and receiver of a Send/Recv of `member`, of anything that has communicator, kind and peer.
template <typename Call>
Frontier::PairKey PairOf(const Call& call, int32_t member) {
  if (call.kind == OperationKind::kSend) return {call.communicator, member, call.peer};
  return {call.communicator, call.peer, member};
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_FRONTIER_H_
