// Members of a communicator whose calls differ at the same sequence number: another operation, or another size where
// all must agree, or, by environments that differ between hosts, another algorithm, protocol or number of channels.
// The smaller party differs. With two equal parties the same place in communicators of equal size decides (sister
// groups run the same program), then what usually follows the call before; if that does not either, all are listed.
// What a recorder does not tell differs from nothing. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_CALL_MISMATCH_H_
#define LOCKSTEP_DETECTOR_HANG_CALL_MISMATCH_H_

#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/hang/frontier.h"
#include "detector/model/input.h"

namespace lockstep {

// All members must call it with the same size.
bool NeedsSameBytes(OperationKind kind);

// Fills `differing`, and the tunings, of every blocked operation that somebody is stuck in and that nobody has left.
void FindMismatches(const Trace& trace, const Frontier& frontier, std::vector<BlockedOperation>* blocked_operations);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_CALL_MISMATCH_H_
