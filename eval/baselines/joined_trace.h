// A trace as the baselines look at it: finished synchronous operations, the members of one instance side by side.
//
// Written apart from the engine on purpose: a mistake in the engine's matching must not also be one of the baselines.
// Borrows the trace. Immutable after construction; O(operations log operations), 24 bytes per operation.

#ifndef LOCKSTEP_EVAL_BASELINES_JOINED_TRACE_H_
#define LOCKSTEP_EVAL_BASELINES_JOINED_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/trace.h"

namespace lockstep {

struct JoinedOperation {
  uint64_t sequence = 0;
  int64_t duration_ns = 0;
  int32_t communicator = -1;
  int32_t rank_index = -1;
};

class JoinedTrace {
 public:
  explicit JoinedTrace(const Trace& trace);

  const Trace& trace() const { return trace_; }

  // Instances with at least two members that finished; the members by rank index.
  size_t instances() const { return first_.size() - 1; }
  absl::Span<const JoinedOperation> Members(size_t instance) const {
    return absl::MakeConstSpan(participations_).subspan(first_[instance], first_[instance + 1] - first_[instance]);
  }

 private:
  const Trace& trace_;
  std::vector<JoinedOperation> participations_;  // by communicator, sequence, rank index
  std::vector<size_t> first_;                    // of each instance, and one past the last
};

// The member that spent the least time inside: the one the others waited for. Ties: the lowest rank index.
const JoinedOperation& LastArriver(absl::Span<const JoinedOperation> members);

// The rank index of the other side of a Send or Recv; -1 if the trace does not tell.
int32_t PeerIndex(const Trace& trace, const TraceOperation& operation);

// Time in which a rank was inside no operation, before each of its operations: 0 where it overlaps an earlier one or
// any time is unknown. One entry per operation of the rank.
std::vector<int64_t> GapsBefore(absl::Span<const TraceOperation> operations);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_BASELINES_JOINED_TRACE_H_
