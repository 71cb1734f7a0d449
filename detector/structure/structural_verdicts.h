// All structural tests on one profile, as verdicts that name no machine. Pure. Cost O(ranks x steps).

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_

#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// What a finding says of a job whose steps usually take this long.
Verdict StructuralVerdict(StructuralFinding finding, double step_seconds);

// `gain` is asked at most once per kind of uneven work; empty = the model of step_profile.h answers.
// `limit`: what a finding must cost (drift and pauses are named whatever they cost). They may stand beside a fault:
// none of the tests is moved by single slow ranks.
std::vector<Verdict> FindStructural(const StepProfile& profile, const GainOfEvenWork& gain, const CostLimit& limit);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_
