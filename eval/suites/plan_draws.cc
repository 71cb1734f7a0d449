#include "eval/suites/plan_draws.h"

#include "sim/fault_choice.h"

namespace lockstep {

FaultSpec SpreadFault(FaultKind kind, int32_t targets, const JobSpec& job, Random& random) {
  FaultSpec fault = RandomFault(kind, targets, job, random);
  fault.severity = InfoOf(kind).typical_severity * LogUniform(0.5, 2, random);
  return fault;
}

}  // namespace lockstep
