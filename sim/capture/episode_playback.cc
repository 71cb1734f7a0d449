#include "sim/capture/episode_playback.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "detector/model/metric_table.h"
#include "detector/model/trace.h"
#include "sim/fault_spec.h"

namespace lockstep {

Playback PlaybackOf(const Episode& episode) {
  const Trace& trace = episode.evidence.trace;
  Playback plan{.evidence = &episode.evidence, .job = trace.job};
  absl::flat_hash_map<std::string, size_t> host_of_name;
  for (const std::string& host : trace.hosts) {
    host_of_name.emplace(host, plan.hosts.size());
    plan.hosts.emplace_back().name = host;
  }
  plan.processes.resize(trace.ranks.size());
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    plan.hosts[static_cast<size_t>(trace.ranks[r].host)].ranks.push_back(r);
    plan.processes[r] = {.before = ProcessState::kRunning, .after = ProcessState::kRunning};
    if (trace.ranks[r].process_state == ProcessState::kGone) {
      plan.processes[r].after = ProcessState::kGone;
      plan.processes[r].from_ns = episode.truth.hang_ns;
    }
  }
  for (const TrueCause& cause : episode.truth.causes) {
    if (cause.kind != FaultKind::kMachineUnreachable) continue;
    for (const Culprit& culprit : cause.culprits) {
      plan.hosts[host_of_name.at(culprit.host)].silent_from_ns = episode.truth.hang_ns;
    }
  }
  const MetricTable& metrics = episode.evidence.metrics;
  for (size_t s = 0; s < metrics.series.size(); ++s) {
    const std::string& host = metrics.hosts[static_cast<size_t>(metrics.series[s].host)];
    const auto [known, added] = host_of_name.try_emplace(host, plan.hosts.size());
    if (added) plan.hosts.emplace_back().name = host;
    plan.hosts[known->second].series.push_back(s);
  }
  plan.communicator_ids = CommunicatorIds(trace.communicators);
  plan.world_size = static_cast<int32_t>(trace.ranks.size() + trace.missing_ranks.size());
  int64_t last_ns = 0;
  for (const TraceOperation& op : trace.operations) last_ns = std::max({last_ns, op.enqueue_ns, op.end_ns});
  plan.ticks = static_cast<int32_t>(last_ns / kReportIntervalNanos) + 1;
  if (episode.truth.state == JobState::kHung) plan.ticks += kTicksAfterEnd;
  return plan;
}

}  // namespace lockstep
