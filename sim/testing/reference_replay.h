// The replay done the slow and obvious way: one rank after the other, each as far as it gets, round and round.
//
// Knows nothing of the order of actions, of rows or of stages in step: only what a rank does next and whom it waits
// for. For jobs without noise of their own (the durations come from the same conditions) and without hangs. Not
// thread-safe.

#ifndef LOCKSTEP_SIM_TESTING_REFERENCE_REPLAY_H_
#define LOCKSTEP_SIM_TESTING_REFERENCE_REPLAY_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/step_conditions.h"

namespace lockstep {

// The records of every rank of the one phase that `plan` describes, in program order, from time 0 on.
std::vector<std::vector<TraceOperation>> ReferencePhase(const JobSpec& job, const Layout& layout, const Plan& plan,
                                                        const StepConditions& conditions);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_TESTING_REFERENCE_REPLAY_H_
