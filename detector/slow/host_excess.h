// Hosts of which all ranks together are above their peers, where each by itself is lost in the noise.
//
// Batches and routing make the work of a rank vary from step to step by more than a slow host adds to it. The ranks of
// a host share what is slow and not the noise: the middle of their excess varies less, and is looked at as that of a
// rank would be (persistent_excess.h), against the middles of the other hosts, over twice as many steps at least. Only
// ranks with peers elsewhere count, two or more of a host. Their excess over the host's stretch makes those suspects
// that have half of what the middle one has, if these are nearly all: what some have and others have not is not the
// host's. Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_HOST_EXCESS_H_
#define LOCKSTEP_DETECTOR_SLOW_HOST_EXCESS_H_

#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Adds such ranks, where their host has no suspect yet, or in the place of those that are slow at times and lose less
// in the mean. Keeps the order.
void AddHostExcess(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const StepTable& steps,
                   const PersistenceOptions& options, std::vector<Suspect>* suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_HOST_EXCESS_H_
