// The numbers of ranks that left no record at all, as far as their groups tell. Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_UNRECORDED_RANKS_H_
#define LOCKSTEP_DETECTOR_PROGRESS_UNRECORDED_RANKS_H_

#include <cstdint>
#include <vector>

#include "detector/progress/standing.h"
#include "detector/trace/trace.h"

namespace lockstep {

// Adds those of `standing.unrecorded` that can be told: members of a group lie at a constant distance. `numbers` stays
// sorted and without repetitions.
void AddUnrecorded(const Trace& trace, const Standing& standing, std::vector<int32_t>* numbers);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_UNRECORDED_RANKS_H_
