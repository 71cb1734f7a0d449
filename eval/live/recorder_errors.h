// The errors of recorders, put into a trace.
//
// The begin of an operation moves and its end moves with it; a begin never comes before its enqueueing. A rank that
// knows only when work was enqueued shows what the NCCL recorder shows then: the operation begins when it was enqueued,
// and has not begun until it is over. Same arguments, same bytes. Pure functions; O(records).

#ifndef LOCKSTEP_EVAL_LIVE_RECORDER_ERRORS_H_
#define LOCKSTEP_EVAL_LIVE_RECORDER_ERRORS_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "eval/live/delivery_spec.h"

namespace lockstep {

// Which ranks know enqueue times alone, by rank index.
std::vector<bool> EnqueueOnlyRanks(const RecorderErrors& errors, size_t ranks, uint64_t seed);

void AddRecorderErrors(const RecorderErrors& errors, const std::vector<bool>& enqueue_only, uint64_t seed,
                       Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_RECORDER_ERRORS_H_
