// How long a rank may be inside an operation before it counts as stuck, and whether the job is past its start-up.
//
// Known steps: `step_multiple` x the longest usual one. Unknown steps, because nothing has moved since this engine
// began (the collector was restarted during a hang): the progress counters still tell how many operations the job
// finished in the life of its processes, and so how long one took on average; kColdMultiple times that, but not below
// kColdFloors floors. Without at least kManyOperations, or when the ages of the processes make no sense:
// kUnknownHangTimeoutNs.
// Steps may take seconds where no wait in some communicator ever took long: there `step_multiple` x the longest time
// that anybody was inside of an operation like those in flight will do, but not less than kLeastSteps steps, nor the
// floor. Barriers by themselves: one before a checkpoint waits for other things than a reduction.
// Pure: looks at a roster. Cost O(communicators + members of the largest).

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_TIMEOUT_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_TIMEOUT_H_

#include <cstdint>

#include "detector/model/roster.h"

namespace lockstep {

struct HangTimeoutOptions {
  int64_t floor_ns = 4'000'000'000;
  double step_multiple = 5.0;
};

// By judgement, not measured: longer than most steps.
inline constexpr int64_t kUnknownHangTimeoutNs = 30'000'000'000;
// By judgement, not measured: longer than ranks that compile the same program differ.
inline constexpr int64_t kStartUpTimeoutNs = 120'000'000'000;

int64_t HangTimeoutNs(const Roster& roster, double longest_usual_step_seconds, const HangTimeoutOptions& options);

// The same in one communicator, where many operations like those in flight are known; never more than `timeout_ns`,
// which is the job's.
int64_t HangTimeoutIn(const Communicator& communicator, int64_t timeout_ns, double longest_usual_step_seconds,
                      const HangTimeoutOptions& options);

// Every member of the largest communicator has been through a few operations. Before that, ranks wait for each other
// for long and nobody is to blame.
bool StartedUp(const Roster& roster);

// How long a job may stand before that: ranks load data and compile at different speeds, and some prepare data for all.
// Once all have met a second time (the first may be a barrier of the launcher), or the members of some communicator
// have finished kManyOperations, kStartUpTimeoutNs; before, any time at all.
int64_t StartUpTimeoutNs(const Roster& roster);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_TIMEOUT_H_
