#include "detector/engine/past_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/shares.h"

namespace lockstep {
namespace {

bool AreFew(size_t hosts, const Trace& trace) {
  return static_cast<double>(hosts) <= std::max(1.0, kMostAtOnce * static_cast<double>(trace.hosts.size()));
}

}  // namespace

bool BeganWith(const SlowCause& cause, const StepShift& shift) {
  const Suspect& first = cause.suspects.front();
  return first.earliest_step() <= shift.first_step + kSameOnsetSteps &&
         shift.first_step <= first.first_step + kSameOnsetSteps;
}

bool TakesPart(double excess_seconds, const StepShift& shift) {
  return excess_seconds >= kMinorPart * (shift.after_seconds - shift.before_seconds);
}

void PayFromPast(const Trace& trace, const StepShift& shift, const std::vector<SlowCause>& causes, double min_cost,
                 CounterfactualGains* gains) {
  const auto is_dear = [min_cost](const CounterfactualGain& gain) { return gain.slowdown() >= min_cost; };
  if (shift.in_some_steps() || std::any_of(gains->of_transfers.begin(), gains->of_transfers.end(), is_dear)) return;
  std::vector<size_t> since;
  std::set<int32_t> hosts;
  for (size_t i = 0; i < causes.size(); ++i) {
    if (!BeganWith(causes[i], shift) || causes[i].alone) continue;
    if (gains->of_ranks[i].Worth(trace.hosts.size()) >= min_cost) return;
    const Suspect& first = causes[i].suspects.front();
    if (!TakesPart(first.excess_seconds, shift)) continue;
    since.push_back(i);
    hosts.insert(trace.ranks[static_cast<size_t>(first.rank)].host);
  }
  if (!AreFew(hosts.size(), trace)) return;
  for (const size_t i : since) {
    gains->of_ranks[i] = {.seconds_per_step = std::min(causes[i].suspects.front().excess_seconds, shift.lost_seconds()),
                          .step_seconds = shift.after_seconds,
                          .steps_affected = 1};
  }
}

}  // namespace lockstep
