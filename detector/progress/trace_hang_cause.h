// One cause for which the job of a trace does not go on. Pure values.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_CAUSE_H_
#define LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_CAUSE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/input.h"
#include "detector/trace/trace.h"

namespace lockstep {

enum class TraceHangKind : uint8_t {
  kNotEntered,   // the ranks have not called the operation, or their GPU has not begun it
  kNotFinished,  // others have finished it, these ranks not
  kTransfer,     // all are inside and nobody gets out
  kMismatch,     // different operations, or sizes, at the same sequence number
  kDeadlock,
};

struct TraceHang {
  TraceHangKind kind = TraceHangKind::kNotEntered;
  std::vector<int32_t> ranks;       // rank indices, rising: exactly the cause, or those that cannot be told apart
  std::vector<int32_t> unrecorded;  // numbers of ranks without any record, rising; kNotEntered only
  bool called = false;              // kNotEntered: the hosts have called it, the GPUs have not begun
  int32_t communicator = -1;        // where the others wait, or stand
  uint64_t sequence = 0;
  OperationKind operation = OperationKind::kUnknown;
  int32_t waiting = 0;        // ranks at that operation
  int32_t victims = 0;        // ranks that wait, directly or over others
  int64_t waited_ns = 0;      // the longest time inside that one host's clock shows; 0 = not known
  bool longest_ever = false;  // unlike anything before (Precedents); not looked at where other things tell a hang
};

// The process cannot go on: it is dead, or was stopped.
inline bool IsGone(const TraceRank& rank) {
  return rank.process_state == ProcessState::kGone || rank.process_state == ProcessState::kZombie ||
         rank.process_state == ProcessState::kStopped;
}

inline bool HasGone(const Trace& trace, const TraceHang& hang) {
  for (const int32_t rank : hang.ranks) {
    if (IsGone(trace.ranks[static_cast<size_t>(rank)])) return true;
  }
  return false;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_CAUSE_H_
