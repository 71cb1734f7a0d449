// How the routing of tokens loads the experts: work that goes with an expert index and with nothing else.
//
// What favours an expert makes the work between two AllToAlls longer on all ranks that hold it, and leaves the rest of
// their work as it is: a slow machine is slow in both. So the load of a rank is its own time over that part of it that
// no routing decides, against the other ranks of its stage in the same step; what the machine does cancels. The load
// goes with the index when the ranks of one index are alike and indices differ: over the expert groups of a stage, each
// of which has other tokens, step by step (a hot index may change); where a stage has one expert group only, over the
// steps. One-way analysis of variance, indices being the treatments. The tests are ours.
//
// Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

struct ExpertLoad {
  // By (stage, expert index) and step: own time over what it would be with experts like the others; 1 = like them.
  std::map<std::pair<int32_t, int32_t>, std::vector<float>> factor;
  double hottest = 0;    // typical excess of the hottest index of a step, as a share of own time
  size_t groups = 0;     // replicas of a stage that hold the same index; 1: only the steps repeat the measurement
  double agreement = 0;  // variance between indices over that within one; about 1 by chance
};

// Factors are 1 where indices do not differ significantly. Empty where nothing is routed.
ExpertLoad MeasureExpertLoad(const StepProfile& profile);

// An expert index that is favoured, in one step or throughout: at most one finding. `gain` says what even experts would
// give back; without an answer the model of the step does.
std::vector<StructuralFinding> FindExpertImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                   double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_EXPERT_LOAD_H_
