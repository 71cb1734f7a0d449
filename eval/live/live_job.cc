#include "eval/live/live_job.h"

#include <cstddef>

#include "base/random.h"
#include "base/status_macros.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/recording_playback.h"

namespace lockstep {
namespace {

// From true time to the moment at which the clock of the host shows it.
void Delay(int64_t ahead_ns, int64_t& since_zero_ns) {
  if (since_zero_ns != kForEverNanos) since_zero_ns += ahead_ns;
}

// What happens to hosts and processes was planned in true time.
void SetClocks(LiveJob& job) {
  Playback& playback = job.playback;
  job.clock_ahead_ns.resize(playback.hosts.size(), 0);
  for (size_t h = 0; h < playback.hosts.size(); ++h) {
    Delay(job.clock_ahead_ns[h], playback.hosts[h].silent_from_ns);
    for (const size_t r : playback.hosts[h].ranks) Delay(job.clock_ahead_ns[h], playback.processes[r].from_ns);
  }
}

}  // namespace

LiveJob LiveJobOf(const PlayedEpisode& played) {
  LiveJob job{.playback = PlaybackOf(played.seen),
              .clock_ahead_ns = played.clock_ahead_ns,
              .enqueue_only = played.enqueue_only,
              .end_ns = played.end_ns};
  // The episode as seen has its hang late, so that no clock shows it early; agents notice in true time.
  for (PlayedHost& host : job.playback.hosts)
    Delay(played.truth.hang_ns - played.seen.truth.hang_ns, host.silent_from_ns);
  for (PlayedProcess& process : job.playback.processes) {
    Delay(played.truth.hang_ns - played.seen.truth.hang_ns, process.from_ns);
  }
  SetClocks(job);
  return job;
}

absl::StatusOr<LiveJob> LiveJobOf(const JobEvidence& evidence, bool stands, uint64_t seed) {
  LiveJob job;
  ASSIGN_OR_RETURN(job.playback, PlanRecording(evidence, "", stands));
  Random random(seed);
  for (PlayedHost& host : job.playback.hosts) {
    const auto ahead_ns = static_cast<int64_t>(random.Below(kReportIntervalNanos));
    host.zero_ns -= ahead_ns;
    host.metrics_zero_ns -= ahead_ns;
    job.clock_ahead_ns.push_back(ahead_ns);
  }
  job.enqueue_only.resize(evidence.trace.ranks.size(), false);
  job.end_ns = job.playback.ticks * kReportIntervalNanos;
  job.playback.ends_in_order = false;  // whether it ended or only the recording did, nobody knows
  SetClocks(job);
  return job;
}

}  // namespace lockstep
