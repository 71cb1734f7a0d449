// Chooses what a fault hits.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_TARGETS_H_
#define LOCKSTEP_SIM_TARGETS_H_

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "sim/fault_spec.h"
#include "sim/layout.h"

namespace lockstep {

// How many different targets of a kind the job has; 0 for kJob.
int32_t TargetCount(TargetKind target, const Layout& layout);

// `count` different targets, fewer if the job has fewer. Pairs of hosts are pairs between which the job sends data, and
// need not be different.
std::vector<int32_t> RandomTargets(TargetKind target, int32_t count, const Layout& layout, Random& random);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_TARGETS_H_
