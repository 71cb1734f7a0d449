// How seldom the rarest recurring communicator of a job is used: how long one must look to see every kind of call.
//
// A step makes all of its kinds of calls once. A window in which some are missing looks as if the job had shorter
// steps: its micro-batches. So a window has to hold several calls of the rarest communicator that recurs at all.
// Counted are the collectives that each communicator finished since the job moves, on its first member that reported,
// by the clock of that member's host: that of the collector runs otherwise when a recording is played.
// Pure; not thread-safe. Memory: 16 bytes per communicator.

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

  // After new reports. The first call after Clear begins to count. Cost O(communicators).
  void Observe(const Roster& roster);

  // From one call to the next of the communicator that is used least; 0 = none has been used kMinCalls times.
  double rarest_period_seconds() const { return rarest_seconds_; }
  // Of the hosts' clocks, since counting began: the most that any communicator has been watched.
  double watched_seconds() const { return watched_seconds_; }

  void Clear() { *this = CallRates(); }

 private:
  struct Begin {
    uint64_t finished = 0;
    int64_t host_ns = 0;  // 0 = nobody has reported yet
  };

  bool begun_ = false;
  std::vector<Begin> begin_;  // by communicator slot
  double rarest_seconds_ = 0;
  double watched_seconds_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SENTINEL_CALL_RATES_H_
