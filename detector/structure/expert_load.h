// Experts that get more tokens than others: routed work that differs within the expert groups by more than other work.
//
// A favoured expert makes the work between two AllToAlls longer on the rank that holds it, and leaves the rest of its
// work as it is; a slow machine, or a longer batch, is slow in both. Which expert is favoured may change with every
// layer and micro-batch, and often does. The comparison is that of routed_spread.h; what even experts would give back
// comes from the replay, less the part that is there in any work. The test is ours. Cost O(1). Pure.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_

#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

// At most one finding; none where `gain` does not know what even experts would give back.
std::vector<StructuralFinding> FindExpertImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                   double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_
