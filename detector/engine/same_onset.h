// One fault, one verdict: what began with something far dearer is its echo.
//
// Two independent faults do not begin in the same step. So of two accusations of one onset, before which steps are
// known, the one that explains three quarters of what both cost is the cause; the other is how it shows elsewhere, such
// as work that peers of a slow rank do while they wait for it, and that no replay tells from a slower GPU. What it
// costs stays unexplained. Kept are ranks of the same host, which one cause may slow by different amounts, and three
// onsets or more at once, which are an event (slow/counterfactual_gain.h). Our own. Pure. Cost O(verdicts squared).

#ifndef LOCKSTEP_DETECTOR_ENGINE_SAME_ONSET_H_
#define LOCKSTEP_DETECTOR_ENGINE_SAME_ONSET_H_

#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

void DropEchoesOfDearer(std::vector<Verdict>* verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SAME_ONSET_H_
