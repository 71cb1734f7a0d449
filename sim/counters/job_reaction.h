// What a synchronous job does when one of its machines fails: all the others wait for it.
//
// After a fault that stops the job everybody stands in its operations until the fault is over, then the job starts
// again from its checkpoint; while a machine is slow, every step is longer and the healthy machines compute for a
// smaller part of it. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_JOB_REACTION_H_
#define LOCKSTEP_SIM_COUNTERS_JOB_REACTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sim/counters/counter_spec.h"

namespace lockstep {

// A job without trouble.
struct JobRhythm {
  int64_t end_ms = 1'500'000;
  double step_seconds = 8;
  int64_t checkpoint_every_ms = 420'000;  // 0 = never
  int64_t checkpoint_ms = 15'000;
  double slowdown = 0.2;          // of the steps while a machine is slow
  int64_t stuck_after_ms = 2000;  // operations under way end before everybody stands
  int64_t restart_ms = 60'000;    // from the end of a hang to the first step
};

// The activity with what `faults` do to the job; windows in order, without holes, from 0 to end_ms.
std::vector<ActivityWindow> ReactionTo(absl::Span<const CounterFault> faults, const JobRhythm& rhythm);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_JOB_REACTION_H_
