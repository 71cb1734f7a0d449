// The counters of the hosts of a simulated job, in step with what the job does.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_EPISODE_COUNTERS_H_
#define LOCKSTEP_SIM_COUNTERS_EPISODE_COUNTERS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "detector/model/metric_table.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/replay.h"

namespace lockstep {

// From the start of the job to its end, or to kStuckSeconds after it hung. Faults act from the begin of their first
// step to the end of their last; a hang from the moment at which it struck.
MetricTable EpisodeCounters(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
                            const ReplayResult& replay);

inline constexpr int32_t kStuckSeconds = 120;

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_EPISODE_COUNTERS_H_
