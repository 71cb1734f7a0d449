// Plays a job to a real collector, one agent per host: a simulated one, or what a recording holds of one.
//
// Blocking: returns when the job is over. Not thread-safe.

#ifndef LOCKSTEP_SIM_FEED_FLEET_FEED_H_
#define LOCKSTEP_SIM_FEED_FLEET_FEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "sim/capture/agent_reports.h"
#include "sim/episode.h"
#include "sim/feed/feed_result.h"

namespace lockstep {

// `progress` is called after every tick; `seed` makes the agents' incarnations. UNAVAILABLE when the collector cannot
// be reached.
absl::StatusOr<FeedResult> FeedReports(AgentReports& reports, uint64_t seed, const FeedOptions& options,
                                       const Clock& clock, const FeedProgress& progress);

// The same for a simulated job.
absl::StatusOr<FeedResult> FeedCollector(const Episode& episode, uint64_t seed, const FeedOptions& options,
                                         const Clock& clock, const FeedProgress& progress);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_FLEET_FEED_H_
