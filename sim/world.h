// Makes the conditions of every phase of a job from its noise and its faults.
//
// The noise of a phase depends on the seed and the phase alone, never on the faults. Not thread-safe.

#ifndef LOCKSTEP_SIM_WORLD_H_
#define LOCKSTEP_SIM_WORLD_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/step_conditions.h"

namespace lockstep {

enum class PhaseKind : uint8_t { kStep, kEvaluation, kCheckpoint };

struct Phase {
  PhaseKind kind = PhaseKind::kStep;
  int32_t step = 0;    // the training step that it is, or that it follows
  int32_t number = 0;  // counts phases of all kinds
};

// The phases of the whole job in order.
std::vector<Phase> PhasesOf(const Schedule& schedule);

// How strong a fault is in a step: 0 before and after it, growing over the ramp.
double SeverityAt(const FaultSpec& fault, int32_t step);

// The last step that a fault touches.
int32_t LastStepOf(const FaultSpec& fault, int32_t steps);

class World {
 public:
  // `layout` must outlive this. Faults must be valid; those without a target where one is needed get one from `seed`.
  World(const JobSpec& job, const Layout& layout, uint64_t seed);

  // Valid until the next call. `plan` is the phase's.
  const StepConditions& At(const Phase& phase, absl::Span<const FaultSpec> faults, const Plan& plan);

 private:
  void ApplyNoise(const Phase& phase);
  void ApplyFault(const FaultSpec& fault, double severity, const Phase& phase, const Plan& plan);
  void ApplyCompute(const FaultSpec& fault, double severity);
  void ApplyNetwork(const FaultSpec& fault, double severity, const Phase& phase);
  void ApplyPauses(const FaultSpec& fault, double severity, const Phase& phase, const Plan& plan);
  void ApplyStructure(const FaultSpec& fault, double severity, const Phase& phase);
  void ApplyHang(const FaultSpec& fault, const Plan& plan);
  void StartNetwork();

  JobSpec job_;
  const Layout& layout_;
  uint64_t seed_;
  std::vector<float> binning_;  // by rank
  StepConditions conditions_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_WORLD_H_
