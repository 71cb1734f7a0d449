// Hosts that starve their GPUs: all ranks of a host launch their work late, each now and then.
//
// A healthy host runs ahead of its GPUs: an operation waits in the queue long before it starts. A host whose cores are
// taken launches late, so that GPUs run dry: operations start the moment they are launched, and the lead is gone on all
// of its ranks. In one step this rank loses most, in the next another one: no rank is persistently slow, the host is.
//   what is counted: own time that is launched late (launch_lateness.h);
//   of a host and step: the most of any of its ranks, since the others wait for that one;
//   verdict: in the mean it is half of `min_cost` of the step time, over a stretch of which at least `min_persistence`
//     of the steps have as much, or else over all since the first one that has; in more steps than chance allows at the
//     rate of the other hosts (intermittent_excess.h); and most ranks take part.
// Abstains for ranks of which the peers' hosts are not ahead either: then a late launch tells nothing.
// Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_STARVED_HOST_H_
#define LOCKSTEP_DETECTOR_SLOW_STARVED_HOST_H_

#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Adds such hosts, unless a cause is about the whole host already and explains as much: ranks that take turns may be
// slow together for a while. What single ranks of it were suspected of becomes part of the host's cause.
void AddStarvedHosts(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const StepTable& steps,
                     const PersistenceOptions& options, std::vector<SlowCause>* causes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_STARVED_HOST_H_
