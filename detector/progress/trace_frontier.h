// How far every rank of a trace has come: the highest operation that it entered and finished in each communicator and
// towards each peer, and the operations that it entered and never finished.
//
// An operation without an end counts as open only while nothing later in the same communicator (or between the same
// two ranks, in the same direction) is known to have ended: otherwise its record is incomplete, not the operation. A
// rank without any finished operation is held to be a dump of active work, from which finished ones are left out.
// Sequence numbers rise by one per communicator; -1 stands for "none". Cost O(operations), memory O(memberships +
// pairs of peers + operations without an end). The trace must outlive the frontier. Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_TRACE_FRONTIER_H_
#define LOCKSTEP_DETECTOR_PROGRESS_TRACE_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "detector/trace/trace.h"

namespace lockstep {

bool IsPointToPoint(OperationKind kind);

// Of at most this many open operations a rank is judged, the oldest ones: a host runs ahead of its GPU by a bounded
// number of calls.
inline constexpr size_t kMaxOpenOperations = 1024;

class TraceFrontier {
 public:
  struct Progress {
    int64_t entered = -1;
    int64_t finished = -1;
    int64_t first = -1;
    int64_t records = 0;
    // Records that are missing between the first and the last.
    int64_t Holes() const { return records > 0 ? entered - first + 1 - records : 0; }
  };
  // Position of one rank in a communicator: its communicator rank.
  struct Membership {
    int32_t communicator = -1;
    int32_t member = -1;
  };

  explicit TraceFrontier(const Trace& trace);

  const Trace& trace() const { return *trace_; }

  // Indices into trace.operations, by rising enqueue time.
  absl::Span<const size_t> OpenOf(size_t rank_index) const {
    return absl::MakeConstSpan(open_).subspan(first_open_[rank_index],
                                              first_open_[rank_index + 1] - first_open_[rank_index]);
  }
  bool any_open() const { return !open_.empty(); }
  uint64_t open_left_out() const { return left_out_; }  // beyond kMaxOpenOperations

  // Collectives of one member.
  const Progress& Of(int32_t communicator, int32_t member) const {
    return collectives_[first_member_[static_cast<size_t>(communicator)] + static_cast<size_t>(member)];
  }
  // Highest collective that some member has left and that nobody leaves before all have entered: all members have
  // entered it, whatever their own records say.
  int64_t EnteredByAll(int32_t communicator) const { return entered_by_all_[static_cast<size_t>(communicator)]; }

  // One side of the transfers from `source` to `destination`, both communicator ranks.
  Progress Sends(int32_t communicator, int32_t source, int32_t destination) const;
  Progress Receives(int32_t communicator, int32_t source, int32_t destination) const;

  // Communicator rank; -1 = not a member.
  int32_t MemberOf(size_t rank_index, int32_t communicator) const;
  absl::Span<const Membership> MembershipsOf(size_t rank_index) const {
    return absl::MakeConstSpan(memberships_)
        .subspan(first_membership_[rank_index], first_membership_[rank_index + 1] - first_membership_[rank_index]);
  }

  // How many of all records are missing, as counters and gaps in the sequences tell: the absence of one more proves
  // the less. 0 to 1.
  double lost_share() const { return lost_share_; }

  // Where the rank stands now is not known: its records end before what others prove that it entered, or nobody looked
  // at its host while most ranks were looked at.
  bool Unseen(size_t rank_index) const { return unseen_[rank_index] != 0; }

  // Whether the rank's records tell the moment at which its GPU began an operation from the call that enqueued it.
  bool TellsBegun(size_t rank_index) const { return tells_begun_[rank_index] != 0; }

 private:
  using PairKey = std::tuple<int32_t, int32_t, int32_t>;  // communicator, source, destination
  struct PairProgress {
    Progress send, receive;
  };

  // What the records of one rank say of one communicator, or of one direction to one peer.
  struct Tally {
    int32_t communicator = -1;
    int32_t peer = -1;  // of a Send/Recv
    OperationKind kind = OperationKind::kUnknown;
    Progress progress;
    int64_t finished_by_all = -1;
  };

  void IndexMembers();
  // Appends the operations without an end.
  void NoteRank(size_t rank_index, std::vector<size_t>* unfinished);
  Tally& TallyOf(size_t rank_index, const TraceOperation& operation);
  void StoreTallies(size_t rank_index);
  void FindOpen(const std::vector<size_t>& unfinished);
  void InferFinished(size_t rank_index);
  bool WentFurther(size_t rank_index) const;
  void ForgetHostsNotLookedAt();
  bool StillOpen(size_t rank_index, const TraceOperation& operation) const;

  const Trace* trace_;
  std::vector<Tally> tallies_;  // of the rank at hand
  std::vector<size_t> first_member_;
  std::vector<Progress> collectives_;
  std::vector<int64_t> entered_by_all_;
  std::vector<size_t> first_membership_;
  std::vector<Membership> memberships_;
  absl::flat_hash_map<PairKey, PairProgress> pairs_;
  std::vector<size_t> open_;
  std::vector<size_t> first_open_;
  std::vector<char> tells_begun_;
  std::vector<char> active_only_;  // no finished operation is recorded
  std::vector<char> unseen_;
  uint64_t left_out_ = 0;
  double lost_share_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_TRACE_FRONTIER_H_
