// Which stage of a pipeline comes after which.
//
// In every step a stage first sends an activation to the next stage, and receives one from the stage before. Each
// complete step has one vote, since a recording, or the window of a look, may begin in the middle of a step. In an
// interleaved schedule the last stage sends to the first as well: there the class of the lowest rank begins. Pure. Cost
// O(operations of one rank per class).

#ifndef LOCKSTEP_DETECTOR_STEPS_STAGE_ORDER_H_
#define LOCKSTEP_DETECTOR_STEPS_STAGE_ORDER_H_

#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// By class: the position in its pipeline from 0, in the direction of the forward pass. Classes without a pipeline, or
// of one whose order cannot be told, have numbers of their own behind these: stages that differ never share one.
std::vector<int32_t> StagesOfClasses(const Trace& trace, const JobRoles& roles, const StepTable& steps);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STAGE_ORDER_H_
