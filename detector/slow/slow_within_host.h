// The rank of a host that is slow beyond what all ranks of the host wait for.
//
// Where a whole host waits for its input, the wait lies at one place of the step; the work of its ranks goes on as
// before, and can be compared among them: who of them is a suspect against the others of the host is a cause by itself.
// (Where the host issues work late, its ranks wait for it everywhere, and whether one of them could have been faster
// nobody knows.) Pure. Cost O(ranks of such hosts x steps).

#ifndef LOCKSTEP_DETECTOR_SLOW_SLOW_WITHIN_HOST_H_
#define LOCKSTEP_DETECTOR_SLOW_SLOW_WITHIN_HOST_H_

#include <vector>

#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Appends such causes, behind those of their hosts, and leaves to the host's what its other ranks share.
void AddSlowWithinHosts(const OwnProfile& profile, const StepTable& steps, const PersistenceOptions& options,
                        std::vector<SlowCause>* causes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_SLOW_WITHIN_HOST_H_
