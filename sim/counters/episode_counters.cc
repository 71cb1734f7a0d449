#include "sim/counters/episode_counters.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/median.h"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/world.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr double kMostComputeShare = 0.95;

double StepSeconds(const ReplayResult& replay, size_t step) {
  return static_cast<double>(replay.step_end_ns[step] - replay.step_begin_ns[step]) * 1e-9;
}

// Of the steps before anything goes wrong, or of all when it begins with the first.
double UsualStepSeconds(const ReplayResult& replay, absl::Span<const FaultSpec> faults) {
  size_t healthy = replay.step_end_ns.size();
  for (const FaultSpec& fault : faults) healthy = std::min(healthy, static_cast<size_t>(fault.onset_step));
  if (healthy == 0) healthy = replay.step_end_ns.size();
  std::vector<double> seconds;
  for (size_t step = 0; step < healthy; ++step) seconds.push_back(StepSeconds(replay, step));
  return UpperMedian(&seconds);
}

// One window per step; what lies between steps is a pause. A step takes longer than usual because somebody is waited
// for: nearly all machines do the same work in it, and wait for the rest.
std::vector<ActivityWindow> ActivityOf(const ReplayResult& replay, absl::Span<const FaultSpec> faults) {
  const double usual_seconds = UsualStepSeconds(replay, faults);
  std::vector<ActivityWindow> windows;
  int64_t end_ms = 0;
  for (size_t i = 0; i < replay.step_end_ns.size(); ++i) {
    const int64_t begin_ms = replay.step_begin_ns[i] / kNanosPerMilli;
    if (begin_ms > end_ms) {
      windows.push_back({.activity = Activity::kPause, .begin_ms = end_ms, .end_ms = begin_ms});
    }
    end_ms = replay.step_end_ns[i] / kNanosPerMilli;
    ActivityWindow step = {.activity = Activity::kTraining,
                           .begin_ms = begin_ms,
                           .end_ms = end_ms,
                           .step_seconds = StepSeconds(replay, i)};
    step.compute_share = std::min(kMostComputeShare, step.compute_share * usual_seconds / step.step_seconds);
    windows.push_back(step);
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
  spec.activity = ActivityOf(replay, faults);
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
