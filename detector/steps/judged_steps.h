// Which steps of a table took as long as the job's steps usually do, and in which of the others ranks waited.
//
// The lengths of steps tell most of it (usual_steps.h); the records tell the rest. An evaluation that makes the
// anchor's call is a step of its own, but no usual one: it is shorter and makes far fewer calls. A longer step in which
// ranks wait shows by the time inside of operations. That is the middle rank's, among those that make as many calls as
// they usually do. Many such steps are usual; few are noted. Cost O(operations x log) where a step other than the first
// is not usual, else O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STEPS_JUDGED_STEPS_H_
#define LOCKSTEP_DETECTOR_STEPS_JUDGED_STEPS_H_

#include "detector/model/trace.h"
#include "detector/steps/step_table.h"

namespace lockstep {

// Fills in `usual`, `waited` and what follows from them; the ranges and `step_seconds` of the table are of this trace.
void JudgeSteps(const Trace& trace, StepTable* table);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_JUDGED_STEPS_H_
