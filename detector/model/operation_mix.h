// What a communicator is called for: how many operations of which kind its members recorded. Pure values.

#ifndef LOCKSTEP_DETECTOR_MODEL_OPERATION_MIX_H_
#define LOCKSTEP_DETECTOR_MODEL_OPERATION_MIX_H_

#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "detector/model/trace.h"

namespace lockstep {

// Records of all members together: a collective of four members counts four times.
struct OperationMix {
  uint64_t collectives = 0;
  uint64_t all_to_alls = 0;  // of these
  uint64_t large = 0;        // of these, that reduce or gather much (kMuchBytes or more), or reduce and scatter
  uint64_t sends = 0;        // and receives
};

// By communicator. `executor` may be nullptr. Cost O(operations), memory O(communicators) per lane.
std::vector<OperationMix> MixOperations(const Trace& trace, Executor* executor);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_OPERATION_MIX_H_
