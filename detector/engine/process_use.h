// What the process of a slow rank tells about the reason: CPU time, and waiting for devices.
//
// A rank whose process is in uninterruptible sleep in most reports waits for storage. One that gets the CPU for much
// less than its own time, while its peers get it for nearly all of theirs and it does not use more than they do, is
// kept from it by its host. One that uses more CPU time than its peers does more work, or its processor does
// the same more slowly: the process is to be looked at before a machine is replaced. It does not wait for its input,
// even if its excess lies at one place of the step. Without CPU times the reason is left open. Pure. Cost O(ranks).

#ifndef LOCKSTEP_DETECTOR_ENGINE_PROCESS_USE_H_
#define LOCKSTEP_DETECTOR_ENGINE_PROCESS_USE_H_

#include "absl/types/span.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Adds the reason to a verdict that blames a single rank as slow, and makes its class more precise. `work`: by rank, of
// the look that found it. `since_seconds`: how long it has been slow.
void AddProcessUse(const Roster& roster, absl::Span<const RankWork> work, double step_seconds, double since_seconds,
                   Verdict* verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_PROCESS_USE_H_
