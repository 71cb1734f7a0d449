// Changes of a recording that must not change what is concluded from it, or that may only weaken it.
//
// Pure but for the chance that is given; thread-safe. O(operations).

#ifndef LOCKSTEP_EVAL_METAMORPHIC_ALTERATIONS_H_
#define LOCKSTEP_EVAL_METAMORPHIC_ALTERATIONS_H_

#include <cstdint>

#include "base/random.h"
#include "detector/model/job_evidence.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Each host's clock is ahead by up to an hour more or less: of its operations, looks and log lines. Counters keep
// their times: they are of another clock.
JobEvidence WithOtherClocks(const JobEvidence& recording, Random& random);

// Everything takes `factor` times as long, waits and looks included.
JobEvidence WithOtherUnits(const JobEvidence& recording, int64_t factor);

// Without a random `share` of its operations. Those that have not finished stay: recorders hold them in slots of
// their own.
JobEvidence WithLosses(const JobEvidence& recording, double share, Random& random);

// The operations of the steps before `step`, or from it on; neither counters nor log lines. The first part does not
// say when it was looked at.
JobEvidence StepsBefore(const JobEvidence& recording, const StepTable& steps, int32_t step);
JobEvidence StepsFrom(const JobEvidence& recording, const StepTable& steps, int32_t step);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_ALTERATIONS_H_
