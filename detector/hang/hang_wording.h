// The sentences of hang verdicts, the same for records and for running jobs. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_WORDING_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_WORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/model/trace.h"

namespace lockstep {

// "AllReduce 7 of communicator 0x1f (dp, 8 members)".
std::string OperationName(const Trace& trace, const Hang& hang);
// With how it is carried out, as far as known: " (ring, LL128, 16 channels)".
std::string StuckName(const Trace& trace, const Hang& hang);
// What the state of the process says; empty = nothing out of the ordinary.
std::string StateSentence(const Trace& trace, int32_t rank_index);
// What makes these ranks, some of the hang's, the cause.
std::string WhatTheyDo(const Trace& trace, const Hang& hang, const std::vector<int32_t>& rank_indices);
// How many wait, for how long, and who.
std::vector<std::string> AboutVictims(const Frontier& frontier, const Hang& hang);
// `ranks`: how many the host has; `hang`: what others wait in, nullptr = nobody waits yet, in a watched job.
std::string SilenceOf(const Frontier& frontier, int32_t host, int32_t ranks, const Hang* hang);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_WORDING_H_
