// The numbers of ranks that left no record at all, as far as their groups tell. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_UNRECORDED_RANKS_H_
#define LOCKSTEP_DETECTOR_HANG_UNRECORDED_RANKS_H_

#include <cstdint>
#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/model/trace.h"

namespace lockstep {

// Adds those of `blocked.unrecorded` that can be told: members of a group lie at a constant distance. `numbers` stays
// sorted and without repetitions.
void AddUnrecorded(const Trace& trace, const BlockedOperation& blocked, std::vector<int32_t>* numbers);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_UNRECORDED_RANKS_H_
