// Work that is unevenly dealt out for a reason that is no machine: by stage, by data.
//
// One principle: excess over the peers that goes with a place in the job (a stage in all replicas, a replica in all its
// stages and in another one each step) belongs to the place. What is left after
// the place is taken out may belong to a machine. Findings need a gain of `min_gain`; each is robust against single
// slow ranks, so that a fault beside it stays visible. Compare What-if (arXiv 2505.05713, worker and stage
// counterfactuals) and SMon; the tests of significance are ours.
// Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_IMBALANCE_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_IMBALANCE_H_

#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

// Single long stalls that hit another rank each time: the program's doing (garbage collection), no machine's.
std::vector<StructuralFinding> FindRotatingStalls(const StepProfile& profile, double min_gain);

// The profile without what single ranks have beyond their place all the time: what two causes cost may hide behind one
// another, and a slow machine must not hide a long stage.
StepProfile WithoutSlowRanks(const StepProfile& profile);

// Own time of each rank and step, without what the routing of tokens decides, over that of the middle one of its peers.
// Layout of profile.own_seconds; NaN where it is not known. What remains above 1, always on the same rank,
// may be a machine.
std::vector<float> ExcessBeyondPlace(const StepProfile& profile);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_IMBALANCE_H_
