// How seldom the rarest recurring communicator of a job is used: how long one must look to see every kind of call.
//
// A step makes all of its kinds of calls once. A window in which some are missing looks as if the job had shorter
// steps: its micro-batches. So a window has to hold several calls of the rarest communicator that recurs at all.
// Counted are the collectives that each communicator finished since the job moves, on its first member that reported.
// Pure; not thread-safe. Memory: 8 bytes per communicator.

#ifndef LOCKSTEP_DETECTOR_SENTINEL_CALL_RATES_H_
#define LOCKSTEP_DETECTOR_SENTINEL_CALL_RATES_H_

#include <cstdint>
#include <vector>

#include "detector/model/roster.h"

namespace lockstep {

class CallRates {
 public:
  // Fewer calls of a communicator are a checkpoint or an evaluation, or have only begun.
  static constexpr uint64_t kMinCalls = 3;

  // Seconds from one call to the next of the communicator that is used least; 0 = none has been used kMinCalls times.
  // The first call after Clear begins to count. Cost O(communicators).
  double RarestPeriodSeconds(const Roster& roster, int64_t watermark_ns);

  void Clear() { *this = CallRates(); }

 private:
  std::vector<uint64_t> finished_then_;  // by communicator slot
  int64_t since_ns_ = 0;                 // 0 = not begun
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SENTINEL_CALL_RATES_H_
