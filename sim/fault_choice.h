// Faults that fit a job: checked when somebody wrote them, drawn when nobody did.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_FAULT_CHOICE_H_
#define LOCKSTEP_SIM_FAULT_CHOICE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/random.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {

// InvalidArgument with what is wrong; targets must exist in `job`.
absl::Status Validate(const FaultSpec& fault, const JobSpec& job);

// A fault of this kind with `target_count` distinct targets drawn from `random` (ignored for kJob), onset in the
// first half of the recorded steps after the warm-up.
FaultSpec RandomFault(FaultKind kind, int32_t target_count, const JobSpec& job, Random& random);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FAULT_CHOICE_H_
