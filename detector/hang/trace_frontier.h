// The frontier of a job by the records of its operations.
//
// An operation without an end counts as open only while nothing later in the same communicator (or between the same
// two ranks, in the same direction) is known to have ended: otherwise its record is incomplete, not the operation. A
// rank without any finished operation is held to be a dump of active work, from which finished ones are left out,
// unless its recorder tells no ends (without_ends.h). Cost O(operations), memory O(memberships + pairs of peers +
// operations without an end). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_TRACE_FRONTIER_H_
#define LOCKSTEP_DETECTOR_HANG_TRACE_FRONTIER_H_

#include <cstddef>

#include "detector/hang/frontier.h"
#include "detector/model/trace.h"

namespace lockstep {

// Of at most this many open operations a rank is judged, the oldest ones: a host runs ahead of its GPU by a bounded
// number of calls. Bound of memory.
inline constexpr size_t kMaxOpenOperations = 1024;

// The trace must outlive the frontier.
Frontier FrontierOf(const Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_TRACE_FRONTIER_H_
