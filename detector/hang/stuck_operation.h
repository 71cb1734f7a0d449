// The cause of a hang in which every member of an operation stands and none gets out.
//
// Either some left no record, so that they are the cause; or some cannot move: in a watched job their processes tell
// (stopped, dead, waiting for a device), or their GPU has not begun what that of others has; in records they stopped
// calling before all others (stopped_calling.h). Or the transfer is stuck, if records show that all are in it. Where
// members are never recorded (blind_members.h), nor begins of GPUs, or sizes, anybody may hold it (Doubt::kGaps).
// Nobody is accused where a member is not known, where the last to come has not been inside for long, or where the
// first have just left. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_STUCK_OPERATION_H_
#define LOCKSTEP_DETECTOR_HANG_STUCK_OPERATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {

// `nodes`: a strong component of the graph that no edge leaves and that holds an operation, rising. nullopt = no cause.
std::optional<Hang> StuckOperation(const Frontier& frontier, const WaitGraph& graph, const std::vector<int32_t>& nodes);

// Of a stuck transfer of a collective: Doubt::kGaps where records do not show that the GPUs of all have begun it, and
// whether sizes are known. A watched job is judged by its reports.
void DoubtTransfer(const Frontier& frontier, const BlockedOperation& blocked, Hang* hang);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_STUCK_OPERATION_H_
