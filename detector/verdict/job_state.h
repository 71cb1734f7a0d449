// What findings say of the state of a job. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_JOB_STATE_H_
#define LOCKSTEP_DETECTOR_VERDICT_JOB_STATE_H_

#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

// The job is longer at its steps for a reason that nobody knows: an abstention, and yet a thing to be told.
bool IsSlowWithoutCause(const Verdict& verdict);

// It is longer at half of its steps or more: an incident of its own, when it lasts.
bool IsOftenSlowWithoutCause(const Verdict& verdict);

// The state of a job about which `verdicts` hold and that is otherwise in `state`: a hang is hung, what costs something
// in half of the steps is slow, in less irregular; planned pauses change nothing.
JobState StateWith(const std::vector<Verdict>& verdicts, JobState state);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_JOB_STATE_H_
