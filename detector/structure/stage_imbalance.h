// A pipeline stage that has more to do than the others, in every replica: an uneven layout of the work.
//
// What costs is the longest stage against the middle one. Needs two stages and two replicas: with one replica a long
// stage and a slow machine look alike. The layout is there from the beginning, so where a stage becomes longer or
// shorter against the others in the middle of a recording, the steps in which it is less so tell what is layout; the
// rest is for other tests. Compare What-if (arXiv 2505.05713, stage counterfactuals); the tests are ours.
// Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_STAGE_IMBALANCE_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_STAGE_IMBALANCE_H_

#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

// At most one finding, of `min_gain` at least. Robust against single slow ranks: a fault beside it stays visible.
std::vector<StructuralFinding> FindStageImbalance(const StepProfile& profile, double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_STAGE_IMBALANCE_H_
