// The functions of one simulated job as a healthy step makes them, the same on all workers of a stage.
//
// They are drawn from those of the job's framework (base_functions.h), with a last collective in which all wait. The
// function that goes wrong is there before, if only a little: it may be among them, and is added otherwise. Times are
// seconds of a healthy step of one second. Pure values.

#ifndef LOCKSTEP_SIM_PATTERNS_JOB_FUNCTIONS_H_
#define LOCKSTEP_SIM_PATTERNS_JOB_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"
#include "sim/patterns/base_functions.h"
#include "sim/patterns/pattern_kinds.h"

namespace lockstep {

struct JobFunction {
  FunctionKind kind = FunctionKind::kPython;
  std::string name;
  OnStages stages = OnStages::kAll;
  double seconds = 0;  // per step, of a healthy step of one second; 0 = healthy workers do not call it
  double calls = 1;    // per step
  double spread = 0;
  Utilisation utilisation = Utilisation::kNone;
  double mu = 0;
  double noise = 0;        // of its time, between workers
  bool stretched = false;  // by the fault: longer calls, not more
};

struct JobFunctions {
  static constexpr size_t kNone = ~size_t{0};

  std::vector<JobFunction> functions;
  size_t last = 0;       // the collective in which all wait
  size_t fault = kNone;  // the one that goes wrong; kNone = none does, or many
};

// `framework`: one of base_functions.h. `fault` may be nullptr.
JobFunctions DrawJobFunctions(uint8_t framework, const PatternKind* fault, Random& random);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PATTERNS_JOB_FUNCTIONS_H_
