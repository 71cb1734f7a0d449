// An operation at which at least one rank stands: when the records end, or now. Pure value.

#ifndef LOCKSTEP_DETECTOR_HANG_BLOCKED_OPERATION_H_
#define LOCKSTEP_DETECTOR_HANG_BLOCKED_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/tuning.h"

namespace lockstep {

struct BlockedOperation {
  int32_t communicator = -1;
  int32_t source = -1;  // of a transfer between two ranks: communicator ranks; -1 = a collective
  int32_t destination = -1;
  uint64_t sequence = 0;
  OperationKind kind = OperationKind::kUnknown;
  std::vector<int32_t> at;          // rank indices that stand here, rising
  std::vector<size_t> operations;   // theirs, in the trace
  std::vector<int32_t> unrecorded;  // communicator ranks that have not entered and left no record at all
  std::vector<int32_t> blind;       // communicator ranks that may stand here: see blind_members.h
  std::vector<int32_t> differing;   // rank indices whose call is another one than that of the others
  std::optional<Tuning> usual_tuning, other_tuning;  // they differ only in how they carry it out
  int64_t since_ns = kNoTime;                        // in a watched job: when the first that is stuck here came
  bool finished_by_some = false;
  bool unjudged = false;  // some member, or the other side of a transfer, is not known: it may be the cause
  bool passing = false;   // of a watched job: nobody has been here for long

  bool collective() const { return source < 0 && destination < 0; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_BLOCKED_OPERATION_H_
