// The operations that agents have sent, put together into the trace of a job of its own.
//
// Some ranks of the job may be left out: communicators then have only the members that were chosen, numbered anew, and
// where all members may wait for one that was left out, times inside tell nothing about a transfer. Operations of other
// processes than the roster knows, and of ranks that use a communicator of unknown size, are left out. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_PULLED_TRACE_H_
#define LOCKSTEP_DETECTOR_ENGINE_PULLED_TRACE_H_

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/trace.h"

namespace lockstep {

// `chosen`: rank slots; empty = all. `missing`: operations that were asked for and did not come. A communicator of the
// result is named by its id in decimal.
Trace TraceOfPulled(const Roster& roster, const std::vector<int32_t>& chosen,
                    const std::vector<PulledOperations>& pulled, uint64_t missing);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_PULLED_TRACE_H_
