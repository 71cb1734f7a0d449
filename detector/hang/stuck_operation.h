// The cause of a hang in which every member of an operation stands and none gets out.
//
// Either some left no record, so that they are the cause; or some cannot move: in a watched job their processes tell
// (stopped, dead, waiting for a device), or their GPU has not begun what that of others has; in records they stopped
// calling before all others (stopped_calling.h). Or the transfer is stuck. Nobody is
// accused where a member is not known, where the last to come has not been inside for long, or where the first have
// just left. Pure.

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

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_STUCK_OPERATION_H_
