// Finished operations of one communicator, from slots of a ring to the columns of the wire.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_COLUMNS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The kind on the wire of a kind in the ring; unspecified for one that is not known. Pure.
wire::OperationKind ToWireKind(uint8_t kind);

// Whether a finished operation's times, sequence and peer can be true at `now_ns` (CLOCK_MONOTONIC). Pure.
bool IsPlausibleOperation(const ring::OperationSlot& operation, int64_t now_ns);

// Appends at most `share` > 0 of `operations`, by enqueue time: all, or those whose sequence is a multiple of the
// smallest power of two that suffices, which becomes the stride; it is at least `least_stride`, which they have been
// thinned by. Returns how many. REQUIRES: all are plausible. Pure.
size_t AppendOperations(std::vector<const ring::OperationSlot*> operations, size_t share, uint32_t least_stride,
                        wire::OperationBatch& batch);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_COLUMNS_H_
