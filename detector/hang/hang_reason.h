// The reasons of hang verdicts, the same for records and for running jobs. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_REASON_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_REASON_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/model/trace.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/wording.h"

namespace lockstep {

// The operation that the others wait in.
OperationName OperationOf(const Trace& trace, const Hang& hang);
// What the state of the process says; none = nothing out of the ordinary.
std::optional<ProcessCannotRun> StateOf(const Trace& trace, int32_t rank_index);
// What makes these ranks, some of the hang's, the cause.
HeldUpRanks WhatTheyDo(const Trace& trace, const Hang& hang, const std::vector<int32_t>& rank_indices);
// How many wait, for how long, and who.
std::vector<Reason> AboutVictims(const Frontier& frontier, const Hang& hang);
// `ranks`: how many the host has; `hang`: what others wait in, nullptr = nobody waits yet, in a watched job.
Reason SilenceOf(const Frontier& frontier, int32_t host, int32_t ranks, const Hang* hang);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_REASON_H_
