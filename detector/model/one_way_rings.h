// Communicators whose members pass data round: each sends to the next one and receives from the one before.
//
// So do ranks of equal duty, as in context parallelism (Ring Attention, Liu et al. 2023, section 3). Stages of a
// pipeline send forwards and backwards, also where the last is followed by the first, and where each direction has a
// communicator of its own: what counts is all that pass between the same members. Pure. Cost O(channels).

#ifndef LOCKSTEP_DETECTOR_MODEL_ONE_WAY_RINGS_H_
#define LOCKSTEP_DETECTOR_MODEL_ONE_WAY_RINGS_H_

#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"

namespace lockstep {

// By communicator: 1 = all Send/Recv between its members are one such ring, of three members or more. Of two nobody can
// tell.
std::vector<char> FindOneWayRings(const Trace& trace, const OperationInstances& matched);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_ONE_WAY_RINGS_H_
