// The operation records of one job in one piece: what a file holds, what agents' rings deliver, what the simulator
// makes.
//
// Shape: operations of all ranks in one array, rank after rank, each rank's by rising enqueue time, so that a rank's
// own history is a contiguous span and nothing needs a pointer. Ranks, hosts and communicators are indices into the
// vectors below; "rank index" is the position in `ranks`, "rank" the number that the job gave the process.
// Times are nanoseconds of the clock of the rank's host: comparable within one host, with nothing else.
// Pure values; thread-compatible. Build one with TraceBuilder, which sorts, removes duplicates and checks.

#ifndef LOCKSTEP_DETECTOR_MODEL_TRACE_H_
#define LOCKSTEP_DETECTOR_MODEL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/input.h"
#include "detector/model/tuning.h"

namespace lockstep {

// In start_ns: enqueued, never began. In end_ns: began, never finished.
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

struct TraceOperation {
  int64_t enqueue_ns = kNoTime;
  int64_t start_ns = kNoTime;
  int64_t end_ns = kNoTime;
  uint64_t sequence = 0;  // per communicator; for Send/Recv per directed (communicator, source, destination)
  uint64_t bytes = 0;     // 0 = unknown
  int32_t communicator = -1;
  int32_t peer = -1;  // communicator rank of the other side of a Send/Recv, in its members; or -1
  OperationKind kind = OperationKind::kUnknown;
  TimingQuality quality = TimingQuality::kUnknown;
  Tuning tuning;

  bool started() const { return start_ns != kNoTime; }
  bool finished() const { return end_ns != kNoTime; }
  // Time inside. Only for a finished operation.
  int64_t duration_ns() const { return end_ns - start_ns; }
};

struct TraceRank {
  int32_t rank = -1;
  int32_t host = -1;  // index into hosts
  int32_t gpu = -1;   // ordinal on the host; -1 = unknown
  int32_t pid = 0;
  ProcessState process_state = ProcessState::kUnknown;  // when last looked at, if anybody looked
  int64_t last_seen_ns = kNoTime;                       // host clock, when last looked at: open operations are this old
};

struct TraceCommunicator {
  std::string name;              // as the input calls it: the identity
  std::string hint;              // what the framework calls it ("dp", "tp_group_3"), or empty
  std::vector<int32_t> members;  // rank index by communicator rank; -1 = a member that left no record
};

struct Trace {
  std::string job;
  std::vector<std::string> hosts;
  std::vector<TraceRank> ranks;  // by rank
  std::vector<TraceCommunicator> communicators;
  std::vector<TraceOperation> operations;
  std::vector<size_t> first_operation;  // of each rank index, and one past the last: ranks.size() + 1 entries
  std::vector<int32_t> missing_ranks;   // that ought to exist and left no record
  uint64_t lost_records = 0;            // that recorders or files say are missing

  absl::Span<const TraceOperation> OperationsOf(size_t rank_index) const {
    return absl::MakeConstSpan(operations)
        .subspan(first_operation[rank_index], first_operation[rank_index + 1] - first_operation[rank_index]);
  }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_TRACE_H_
