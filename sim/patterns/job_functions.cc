#include "sim/patterns/job_functions.h"

#include "sim/patterns/pattern_draws.h"

namespace lockstep {
namespace {

constexpr char kLastCollective[] = "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)";

JobFunction DrawFunction(const BaseFunction& base, Random& random) {
  JobFunction function;
  function.kind = base.kind;
  function.name = base.name;
  function.stages = base.stages;
  function.seconds = DrawLogUniform(base.least_share, base.most_share, random);
  function.calls = static_cast<double>(base.least_calls) +
                   static_cast<double>(random.Below(static_cast<uint64_t>(base.most_calls - base.least_calls + 1)));
  function.spread = base.spread;
  function.utilisation = base.utilisation;
  function.mu = base.mu * DrawJitter(0.2, random);
  function.noise = IsOfHost(base.kind) ? DrawLogUniform(0.05, 0.4, random) : DrawLogUniform(0.005, 0.05, random);
  return function;
}

JobFunction DrawLastCollective(Random& random) {
  JobFunction last;
  last.kind = FunctionKind::kCollective;
  last.name = kLastCollective;
  last.seconds = DrawLogUniform(0.01, 0.06, random);
  last.calls = 10;
  last.spread = 0.8;
  last.utilisation = Utilisation::kMessageBandwidth;
  last.mu = 3e10;
  last.noise = 0.02;
  return last;
}

// What goes wrong where nothing of the kind is among the job's functions.
JobFunction DrawFaulty(const PatternKind& fault, Random& random) {
  JobFunction function;
  function.kind = fault.kind;
  function.name = fault.function;
  function.seconds = IsOfHost(fault.kind) ? 0.0005 : 0.01;
  function.calls = 4;
  function.spread = 0.3;
  function.noise = 0.1;
  if (fault.kind == FunctionKind::kCollective) function.utilisation = Utilisation::kMessageBandwidth;
  if (fault.kind == FunctionKind::kCollective) function.mu = 2e10;
  // What has little to do with the GPU's work may also be missing on healthy workers altogether.
  if (IsOfHost(fault.kind) && random.Below(2) == 0) function.seconds = 0;
  return function;
}

}  // namespace

JobFunctions DrawJobFunctions(uint8_t framework, const PatternKind* fault, Random& random) {
  JobFunctions drawn;
  for (const BaseFunction& base : AllBaseFunctions()) {
    if ((base.frameworks & framework) != 0) drawn.functions.push_back(DrawFunction(base, random));
  }
  drawn.last = drawn.functions.size();
  drawn.functions.push_back(DrawLastCollective(random));
  if (fault == nullptr || fault->function[0] == '\0') return drawn;
  for (size_t i = 0; i < drawn.functions.size(); ++i) {
    if (drawn.functions[i].kind == fault->kind && drawn.functions[i].name == fault->function) drawn.fault = i;
  }
  if (drawn.fault == JobFunctions::kNone) {
    drawn.fault = drawn.functions.size();
    drawn.functions.push_back(DrawFaulty(*fault, random));
  }
  drawn.functions[drawn.fault].stretched = fault->effect != PatternEffect::kMoreCalls;
  drawn.functions[drawn.fault].stages = OnStages::kAll;
  return drawn;
}

}  // namespace lockstep
