// An episode as the agents of its hosts see it: on clocks of their own, with the errors of their recorders.
//
// An agent reports at the full seconds of its host's clock. The clocks are ahead of true time by less than a second
// each, drawn from a seed, so that the reports of a job are spread over the second as they are in a fleet. Same
// arguments, same bytes. Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_PLAYED_EPISODE_H_
#define LOCKSTEP_EVAL_LIVE_PLAYED_EPISODE_H_

#include <cstdint>
#include <vector>

#include "eval/live/delivery_spec.h"
#include "sim/episode.h"

namespace lockstep {

struct PlayedEpisode {
  Truth truth;  // in true time since the start of the job
  // All times are those of the hosts' clocks. The hang of its truth is kReportIntervalNanos late, so that no clock
  // shows it before it happened.
  Episode seen;
  std::vector<int64_t> clock_ahead_ns;  // by host: of true time; 0 to kReportIntervalNanos
  std::vector<bool> enqueue_only;       // by rank index
  int64_t end_ns = 0;                   // true time up to which there is something to see
};

// Consumes `episode`: its memory becomes that of the result. O(records).
PlayedEpisode MakePlayedEpisode(Episode episode, const RecorderErrors& errors, uint64_t seed);

// The recording as somebody holds it who copied the agents' records at the end: it says when it looked at whom.
// Consumes `played`.
JobEvidence TakeRecording(PlayedEpisode played);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_PLAYED_EPISODE_H_
