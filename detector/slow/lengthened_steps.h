// What the length of steps alone says about a cost, where it is compared with the job's own past.
//
// By how much steps got longer at the onset of an ailment: removing it gives back no more. Where no step can be
// replayed, that is all there is. Pure. Cost O(steps x ailments), and O(operations) for IsReplayable.

#ifndef LOCKSTEP_DETECTOR_SLOW_LENGTHENED_STEPS_H_
#define LOCKSTEP_DETECTOR_SLOW_LENGTHENED_STEPS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "detector/model/trace.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// In seconds, with two standard errors on top. Nothing is known where too few steps lie between the onset and those of
// other ailments, or the ends of the records.
std::optional<double> LengthenedBy(const StepTable& steps, const std::vector<Ailment>& ailments, size_t number,
                                   double min_cost);

// Median length of the usual steps that the ailment is in; 0 = there is none.
double UsualSecondsOf(const StepTable& steps, const Ailment& ailment);

// Delays do not pass through ranks most of whose operations have no times: with more than a tenth of such ranks no
// replay tells a cost.
bool IsReplayable(const Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_LENGTHENED_STEPS_H_
