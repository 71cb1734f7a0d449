// Which operations of a job count its steps: what a live job is paced by between two looks.
//
// A pacemaker is one communicator of one rank in which that rank takes part equally often in every step. Its sequence
// numbers then count steps, whatever else overlaps, and the distance of two ends is the time of the steps between.
// Chosen are, on up to kMaxPacemakers hosts, the communicators with the fewest operations per step. Empty where no
// steps were found, or no collective recurs evenly. Pure. Cost O(operations of the chosen ranks).

#ifndef LOCKSTEP_DETECTOR_STEPS_PACEMAKER_H_
#define LOCKSTEP_DETECTOR_STEPS_PACEMAKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// A second and a third witness stand in when the host of the first falls silent or loses records.
inline constexpr size_t kMaxPacemakers = 3;

struct Pacemaker {
  size_t rank_index = 0;
  int32_t communicator = -1;  // index in the trace
  uint64_t operations_per_step = 0;
  uint64_t newest_sequence = 0;  // of the operation that ended the newest complete step
};

std::vector<Pacemaker> FindPacemakers(const Trace& trace, const StepTable& steps);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_PACEMAKER_H_
