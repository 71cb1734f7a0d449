// Works out the right answer to an episode.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_TRUTH_H_
#define LOCKSTEP_SIM_TRUTH_H_

#include <cstdint>

#include "absl/types/span.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/replay.h"

namespace lockstep {

// A step counts as affected when it took so much longer than in the healthy run.
inline constexpr double kAffectedShare = 0.03;

// `replay` is the run with all of `faults`, whose targets must be filled in. Replays the job without them, and with
// more than one also with each alone and without each: 1 or 1 + 2 * faults.size() more runs.
Truth WorkOutTruth(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
                   const ReplayResult& replay);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_TRUTH_H_
