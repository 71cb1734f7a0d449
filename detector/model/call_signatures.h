// Which kinds of calls on groups of which size each rank makes: ranks of one pipeline stage make the same.
//
// A kind of call that no rank makes more than a few times does not count. It is a checkpoint's or a start's, and all
// records of it may be lost. How often the others are made says nothing. Pure. Cost O(operations + kinds of calls x
// ranks x log).

#ifndef LOCKSTEP_DETECTOR_MODEL_CALL_SIGNATURES_H_
#define LOCKSTEP_DETECTOR_MODEL_CALL_SIGNATURES_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"

namespace lockstep {

// By rank index: a number for what it calls, from 0; ranks that make the same kinds of calls have the same.
std::vector<uint64_t> SignCalls(const Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_CALL_SIGNATURES_H_
