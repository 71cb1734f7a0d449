// All structural tests on one profile, as verdicts that name no machine. Pure. Cost O(ranks x steps).

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_

#include <vector>

#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// What a finding says of a job whose steps usually take this long.
Verdict StructuralVerdict(StructuralFinding finding, double step_seconds);

// `gain` is asked at most once per kind of uneven work; empty = the model of step_profile.h answers.
// `min_gain`: share of the step time that a finding must cost (drift and pauses are named whatever they cost). They may
// stand beside a fault: none of the tests is moved by single slow ranks.
std::vector<Verdict> FindStructural(const StepProfile& profile, const GainOfEvenWork& gain, double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_STRUCTURAL_VERDICTS_H_
