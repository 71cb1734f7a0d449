#include "eval/live/played_episode.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/random.h"
#include "eval/live/recorder_errors.h"
#include "sim/capture/playback.h"

namespace lockstep {
namespace {

int64_t LastMoment(const JobEvidence& evidence) {
  int64_t last_ns = 0;
  for (const TraceOperation& op : evidence.trace.operations) last_ns = std::max({last_ns, op.enqueue_ns, op.end_ns});
  if (!evidence.trace.operations.empty()) return last_ns;
  for (const MetricSeries& series : evidence.metrics.series) {
    if (!series.time_ms.empty()) last_ns = std::max(last_ns, series.time_ms.back() * kNanosPerMilli);
  }
  return last_ns;
}

void SetClocks(const std::vector<int64_t>& ahead_ns, JobEvidence& evidence) {
  Trace& trace = evidence.trace;
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    const int64_t shift_ns = ahead_ns[static_cast<size_t>(trace.ranks[r].host)];
    for (size_t i = trace.first_operation[r]; i < trace.first_operation[r + 1]; ++i) {
      TraceOperation& op = trace.operations[i];
      for (int64_t* time_ns : {&op.enqueue_ns, &op.start_ns, &op.end_ns}) {
        if (*time_ns != kNoTime) *time_ns += shift_ns;
      }
    }
  }
  for (MetricSeries& series : evidence.metrics.series) {
    const int64_t shift_ms = ahead_ns[static_cast<size_t>(series.host)] / kNanosPerMilli;
    for (int64_t& time_ms : series.time_ms) time_ms += shift_ms;
  }
  absl::flat_hash_map<std::string, size_t> host_of_name;
  for (size_t h = 0; h < trace.hosts.size(); ++h) host_of_name.emplace(trace.hosts[h], h);
  for (HostEvent& event : evidence.events) {
    const auto host = host_of_name.find(event.host);
    if (host != host_of_name.end()) event.event.host_ns += ahead_ns[host->second];
  }
}

}  // namespace

PlayedEpisode MakePlayedEpisode(Episode episode, const RecorderErrors& errors, uint64_t seed) {
  Random random(seed);
  PlayedEpisode played{.truth = episode.truth, .seen = std::move(episode)};
  Trace& trace = played.seen.evidence.trace;
  const bool hung = played.truth.state == JobState::kHung;
  played.end_ns =
      hung ? played.truth.hang_ns + kTicksAfterEnd * kReportIntervalNanos : LastMoment(played.seen.evidence);
  played.enqueue_only = EnqueueOnlyRanks(errors, trace.ranks.size(), random.Next());
  AddRecorderErrors(errors, played.enqueue_only, random.Next(), trace);
  for (size_t h = 0; h < trace.hosts.size(); ++h) {
    played.clock_ahead_ns.push_back(static_cast<int64_t>(random.Below(kReportIntervalNanos)));
  }
  SetClocks(played.clock_ahead_ns, played.seen.evidence);
  played.seen.truth.hang_ns += kReportIntervalNanos;
  return played;
}

JobEvidence TakeRecording(PlayedEpisode played) {
  JobEvidence recording = std::move(played.seen.evidence);
  if (played.truth.state != JobState::kHung) return recording;
  std::vector<bool> silent(recording.trace.hosts.size());
  for (const TrueCause& cause : played.truth.causes) {
    if (cause.kind != FaultKind::kMachineUnreachable) continue;
    for (const Culprit& culprit : cause.culprits) {
      const auto& hosts = recording.trace.hosts;
      silent[static_cast<size_t>(std::find(hosts.begin(), hosts.end(), culprit.host) - hosts.begin())] = true;
    }
  }
  for (TraceRank& rank : recording.trace.ranks) {
    const auto host = static_cast<size_t>(rank.host);
    if (!silent[host]) rank.last_seen_ns = played.end_ns + played.clock_ahead_ns[host];
  }
  return recording;
}

}  // namespace lockstep
