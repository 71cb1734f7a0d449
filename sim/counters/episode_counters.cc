#include "sim/counters/episode_counters.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/world.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

// Steps of one length make one window; what lies between steps is a pause.
std::vector<ActivityWindow> ActivityOf(const ReplayResult& replay) {
  std::vector<ActivityWindow> windows;
  int64_t end_ms = 0;
  for (size_t i = 0; i < replay.step_end_ns.size(); ++i) {
    const int64_t begin_ms = replay.step_begin_ns[i] / kNanosPerMilli;
    if (begin_ms > end_ms) {
      windows.push_back({.activity = Activity::kPause, .begin_ms = end_ms, .end_ms = begin_ms});
    }
    end_ms = replay.step_end_ns[i] / kNanosPerMilli;
    const double seconds = static_cast<double>(replay.step_end_ns[i] - replay.step_begin_ns[i]) * 1e-9;
    windows.push_back(
        {.activity = Activity::kTraining, .begin_ms = begin_ms, .end_ms = end_ms, .step_seconds = seconds});
  }
  if (!replay.hung) return windows;
  const int64_t hang_ms = std::max(end_ms, replay.hang_ns / kNanosPerMilli);
  windows.push_back({.activity = Activity::kTraining, .begin_ms = end_ms, .end_ms = hang_ms});
  windows.push_back({.activity = Activity::kStuck, .begin_ms = hang_ms, .end_ms = hang_ms + kStuckSeconds * 1000});
  return windows;
}

void AddFault(const FaultSpec& fault, int32_t target, const Layout& layout, CounterFault part,
              std::vector<CounterFault>& faults) {
  part.kind = fault.kind;
  const TargetKind kind = InfoOf(fault.kind).target;
  if (kind == TargetKind::kRank || kind == TargetKind::kNic) {
    part.host = layout.HostOf(target);
    part.device = layout.GpuOf(target);
    faults.push_back(part);
  } else if (kind == TargetKind::kHost || kind == TargetKind::kHostPair) {
    part.host = target;
    faults.push_back(part);
  }
}

}  // namespace

MetricTable EpisodeCounters(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
                            const ReplayResult& replay) {
  CounterSpec spec{.job = job.name, .hosts = layout.hosts(), .devices_per_host = job.gpus_per_host};
  spec.interval_ms = job.recording.counter_interval_ms;
  spec.activity = ActivityOf(replay);
  if (spec.activity.empty()) spec.activity.push_back({.activity = Activity::kPause, .end_ms = 0});
  const int64_t end_ms = spec.activity.back().end_ms;
  std::vector<CounterFault> counter_faults;
  for (const FaultSpec& fault : faults) {
    CounterFault part{.end_ms = end_ms};
    const auto steps = static_cast<int32_t>(replay.step_begin_ns.size());
    const int32_t last = LastStepOf(fault, job.schedule.steps);
    if (InfoOf(fault.kind).hang) {
      if (!replay.hung) continue;
      part.begin_ms = replay.hang_ns / kNanosPerMilli;
    } else if (fault.onset_step < steps) {
      part.begin_ms = replay.step_begin_ns[fault.onset_step] / kNanosPerMilli;
      if (last + 1 < steps) part.end_ms = replay.step_end_ns[last] / kNanosPerMilli;
    } else {
      continue;
    }
    for (const int32_t target : fault.targets) AddFault(fault, target, layout, part, counter_faults);
  }
  return SimulateCounters(spec, counter_faults, seed);
}

}  // namespace lockstep
