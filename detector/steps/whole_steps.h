// Which steps of which ranks left all of their records.
//
// Sequence numbers count without holes: a hole between two records of a rank in one channel is a lost record. It lies
// somewhere between the two, so that every step from the first to the second may be the one that lacks it. Pure. Cost
// O(ranks x steps + holes x steps).

#ifndef LOCKSTEP_DETECTOR_STEPS_WHOLE_STEPS_H_
#define LOCKSTEP_DETECTOR_STEPS_WHOLE_STEPS_H_

#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// By rank, then step: 1 = complete, and nothing is missing. Empty = of no rank anything is missing.
std::vector<char> FindWholeSteps(const OperationInstances& matched, const StepTable& steps);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_WHOLE_STEPS_H_
