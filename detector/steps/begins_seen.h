// Ranks whose recorder does not see when operations begin.
//
// A recorder without GPU times knows when the host handed an operation over and when it was over. Hosts run ahead of
// their GPUs, so that such operations seem to begin long before they do: the rank seems to wait where it works, and the
// other way round. Its own time proves nothing against it; its ends are as good as anybody's.
//
// The recorder may say so (kHostEnqueue). Where a file does not tell, a rank counts as one of these when hardly any of
// its operations begins after the call, and
//   - collectives of one kind and communicator begin while the one before them runs, which GPUs carry out one by one;
//   or
//   - most peers' begin later, and it is inside of operations for longer than they are: a host that issues work late
//     begins at once as well, but comes last and stays shortly.
// Where most ranks' begins are not seen, the only times are begins. Pure. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_STEPS_BEGINS_SEEN_H_
#define LOCKSTEP_DETECTOR_STEPS_BEGINS_SEEN_H_

#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// By rank: 1 = its begins are not seen.
std::vector<char> RanksWithoutBegins(const Trace& trace, const JobRoles& roles);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_BEGINS_SEEN_H_
