// Ranks that seem to work longer because they wait.
//
// Where a group's operations run beside the work, what waits for them at its end looks like work. While the transfers
// of the group are fine nobody notices; when they become slow, its members seem to have become slow as well, all of
// them and all at once. A rank that really is slow is slow without the others of its group. So: of the suspects among
// the members of a slow group, since its onset, none is believed when they are most of its members, but for who exceeds
// their middle by as much again. One that is left alone by that (of a group of two, the weaker) echoes nobody.
// Where a group is not recorded at all, its waits are work. Behind a slow Send/Recv, whose receiver is no suspect, it
// shows by this: several others of the receiver's host are slower by the same, since its onset. Pure. Cost O(members
// of the slow groups + slow Send/Recv x suspects).

#ifndef LOCKSTEP_DETECTOR_SLOW_WAIT_ECHO_H_
#define LOCKSTEP_DETECTOR_SLOW_WAIT_ECHO_H_

#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/slow_transfers.h"

namespace lockstep {

// Removes such suspects; the others keep their order.
void DropWaitEchoes(const Trace& trace, const OperationInstances& matched, const std::vector<SlowTransfers>& transfers,
                    std::vector<Suspect>* suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_WAIT_ECHO_H_
