#include "sim/counters/job_reaction.h"

#include <algorithm>
#include <set>

#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr double kComputeShare = 0.75;

// What the job does at `ms`; the earlier rules win.
ActivityWindow ActivityAt(absl::Span<const CounterFault> faults, const JobRhythm& rhythm, int64_t ms) {
  ActivityWindow window{.step_seconds = rhythm.step_seconds, .compute_share = kComputeShare};
  for (const CounterFault& fault : faults) {
    if (!InfoOf(fault.kind).hang || ms < fault.begin_ms + rhythm.stuck_after_ms) continue;
    if (ms < fault.end_ms) {
      window.activity = Activity::kStuck;
      return window;
    }
    if (ms < fault.end_ms + rhythm.restart_ms) window.activity = Activity::kPause;
  }
  if (window.activity == Activity::kPause) return window;
  if (rhythm.checkpoint_every_ms > 0 && ms >= rhythm.checkpoint_every_ms &&
      ms % rhythm.checkpoint_every_ms < rhythm.checkpoint_ms) {
    window.activity = Activity::kPause;
    return window;
  }
  for (const CounterFault& fault : faults) {
    if (InfoOf(fault.kind).hang || ms < fault.begin_ms || ms >= fault.end_ms) continue;
    window.step_seconds = rhythm.step_seconds * (1 + rhythm.slowdown);
    window.compute_share = kComputeShare / (1 + rhythm.slowdown);
  }
  return window;
}

}  // namespace

std::vector<ActivityWindow> ReactionTo(absl::Span<const CounterFault> faults, const JobRhythm& rhythm) {
  std::set<int64_t> moments = {0};
  for (const CounterFault& fault : faults) {
    moments.insert(
        {fault.begin_ms, fault.begin_ms + rhythm.stuck_after_ms, fault.end_ms, fault.end_ms + rhythm.restart_ms});
  }
  if (rhythm.checkpoint_every_ms > 0) {
    for (int64_t ms = rhythm.checkpoint_every_ms; ms < rhythm.end_ms; ms += rhythm.checkpoint_every_ms) {
      moments.insert({ms, ms + rhythm.checkpoint_ms});
    }
  }
  std::vector<ActivityWindow> windows;
  for (const int64_t begin_ms : moments) {
    if (begin_ms >= rhythm.end_ms) break;
    if (!windows.empty()) windows.back().end_ms = begin_ms;
    windows.push_back(ActivityAt(faults, rhythm, begin_ms));
    windows.back().begin_ms = begin_ms;
    windows.back().end_ms = rhythm.end_ms;
  }
  return windows;
}

}  // namespace lockstep
