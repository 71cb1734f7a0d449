// Members of a stuck collective, or of one that waits for them, whose hosts stopped calling before those of all others.
//
// Behind a transfer that is stuck, hosts go on calling until their queue is full or the step ends: members of one
// communicator come to rest at the same call, or nearly. One that has called far less, with less in flight than any of
// them, or half as much, stopped by itself: its process is dead or was halted, and with it the thread that carries its
// data. So did one that has called less and of whose calls its GPU has begun fewer than any other: both stand still. A
// healthy process that merely waits elsewhere would let the operation end. Only members of the stuck communicator are
// compared, by what they call there and in communicators that all of them share: an operation elsewhere keeps hosts at
// different places. A process that is known to run is left out: it may wait for a result that it prints. Cost
// O(communicators x members). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_STOPPED_CALLING_H_
#define LOCKSTEP_DETECTOR_HANG_STOPPED_CALLING_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"

namespace lockstep {

// Rank indices, rising: a few of those that are inside, at most a quarter of the members; none where lost records may
// show the same by chance.
std::vector<int32_t> StoppedCalling(const Frontier& frontier, int32_t communicator);

// The same of those whose host has called the collective and whose GPU has not begun it. What they have in flight tells
// nothing: their GPUs stand further back. But a host whose GPU alone is stuck goes on calling, so that far fewer calls
// than others have made are a process that is dead or halted.
std::vector<int32_t> StoppedFarBehind(const Frontier& frontier, int32_t communicator);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_STOPPED_CALLING_H_
