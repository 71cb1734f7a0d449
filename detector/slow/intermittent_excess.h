// Ranks whose own work is above that of their peers in some of the steps only, more often than chance explains.
//
// A GPU that is throttled now and then, or a process that something interrupts, is slow in a part of its steps. A rank
// is such a suspect when its steps fall into two levels, and
//   separation: the higher level is kMinSeparation standard deviations of the step-to-step noise above the lower one,
//   effect: the higher level times the share of its steps is at least half of `min_cost` of the step time,
//   surprisal: as many slow steps are improbable if every peer were slow that often. How often peers are is counted
//     among their own steps (one more slow step than was seen): no shape of the noise is assumed, and stalls that go
//     round (garbage collection, long sequences) raise it. The exact tail of the binomial distribution, times all ranks
//     and levels that were looked at, has to stay below `false_suspects_per_job`.
// Ranks that are suspects in a stretch of steps already stay what they are, unless they are slow in far more steps
// outside of it. Cost O(ranks x steps log steps). Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_INTERMITTENT_EXCESS_H_
#define LOCKSTEP_DETECTOR_SLOW_INTERMITTENT_EXCESS_H_

#include <cstddef>
#include <vector>

#include "detector/model/roles.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Logarithm of the probability of at least `hits` of `trials`, each with `probability`.
double LogBinomialTail(size_t hits, size_t trials, double probability);

// Adds such ranks to `suspects`, and keeps these by falling excess.
void AddIntermittentExcess(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                           const PersistenceOptions& options, std::vector<Suspect>* suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_INTERMITTENT_EXCESS_H_
