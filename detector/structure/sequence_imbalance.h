// Batches of different length: own time that follows the data.
//
// A batch that is longer makes all ranks that work on it slower, in all stages and lanes, for one step; the next step
// has other batches. So what is looked for is the change from one step to the next, beyond what the whole stage has in
// common: it must be shared by the ranks of a replica (robust variance of replicas over that within one, F >= 8; chance
// gives 1), be usual and not rare (medians of the changes, so that neither an onset nor single stalls count), and the
// worst replica must be another one each time (rotation.h). Where no two ranks share their data, own time must vary by
// more than equal work does. What the routing of tokens decides is left out. The tests are ours.
//
// Cost O(ranks x steps). Pure. Abstains below ten steps, two replicas.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_SEQUENCE_IMBALANCE_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_SEQUENCE_IMBALANCE_H_

#include <cstddef>
#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

// How own time changes from one step to the next, as shares of itself.
struct BatchVariation {
  double of_replicas = 0;  // standard deviation that the ranks of a replica share, from step to step
  double agreement = 0;    // its variance over what chance within a replica makes of it; 0 = no two ranks share data
  double rotation = 0;     // RotationEntropy of the worst replica
  size_t replicas = 0;
};

BatchVariation MeasureBatchVariation(const StepProfile& profile);

// At most one finding. `gain` says what batches of equal length would give back; without an answer the model does.
// `hot_experts`: what the experts' work costs has been told already.
std::vector<StructuralFinding> FindSequenceImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                     bool hot_experts, double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_SEQUENCE_IMBALANCE_H_
