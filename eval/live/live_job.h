// A job whose agents are played live: whose agents, on which clocks, until when.
//
// An agent reports at the full seconds of its host's clock. The clocks are ahead of true time by less than a second
// each, drawn from a seed, so that the reports of a job are spread over the second as they are in a fleet. Same
// arguments, same values. Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_JOB_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_JOB_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "detector/model/job_evidence.h"
#include "eval/live/played_episode.h"
#include "sim/capture/playback.h"

namespace lockstep {

struct LiveJob {
  Playback playback;                    // by the clocks of the hosts
  std::vector<int64_t> clock_ahead_ns;  // by host of the playback: of true time; 0 to kReportIntervalNanos
  std::vector<bool> enqueue_only;       // by rank index: its recorder does not know when an operation began
  int64_t end_ns = 0;                   // true time up to which there is something to see
};

// `played` must outlive the job.
LiveJob LiveJobOf(const PlayedEpisode& played);

// A recording, as `lockstep feed` plays it (`stands`: see PlanRecording). DATA_LOSS when there is nothing to play.
// `evidence` must outlive the job.
absl::StatusOr<LiveJob> LiveJobOf(const JobEvidence& evidence, bool stands, uint64_t seed);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_JOB_H_
