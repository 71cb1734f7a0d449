// The plans (plan.h) of a job: what the ranks of each pipeline stage do in a step, an evaluation or a checkpoint.
//
// The schedule is 1F1B with grouped blocking Send/Recv, or interleaved 1F1B with Send/Recv running beside the compute
// (Narayanan et al., SC'21, section 2.2). MakeXPlan also finds an order of actions in which everything that an action
// needs has been computed before: the replay then walks over ranks in plain loops. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_PROGRAM_H_
#define LOCKSTEP_SIM_PROGRAM_H_

#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/plan.h"

namespace lockstep {

// One training step.
Plan MakeTrainingPlan(const JobSpec& job, const Layout& layout);

// Forward passes over Schedule::evaluate_batches.
Plan MakeEvaluationPlan(const JobSpec& job, const Layout& layout);

// Everybody writes, then a barrier of all.
Plan MakeCheckpointPlan(const JobSpec& job, const Layout& layout);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PROGRAM_H_
