// Whom the right verdict on a fault names, and from whom the evidence cannot tell them apart.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_CULPRITS_H_
#define LOCKSTEP_SIM_CULPRITS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/verdict/verdict.h"
#include "sim/fault_spec.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/step_conditions.h"

namespace lockstep {

// Of a fault that lets the job go on.
std::vector<Culprit> CulpritsOf(const FaultSpec& fault, const Layout& layout);

// Of a hang: those of `hung` that took effect in this way. `plan` is a training step's.
std::vector<Culprit> CulpritsOfHang(const FaultSpec& fault, absl::Span<const InjectedHang> hung, const Layout& layout,
                                    const Plan& plan);

// The hosts of all ranks that are in every group which the fault slows down (or, for a stuck transfer, stops), when
// these are more hosts than the culprits'; else empty.
std::vector<std::string> IndistinguishableHosts(const FaultSpec& fault, absl::Span<const InjectedHang> hung,
                                                const Layout& layout, const Plan& plan);

// Classes that are right as well as the table's own, given what operation records can show of this job.
std::vector<VerdictClass> AcceptableClasses(const FaultSpec& fault, const Layout& layout, bool distinguishable);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CULPRITS_H_
