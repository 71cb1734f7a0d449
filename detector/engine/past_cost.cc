#include "detector/engine/past_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "base/shares.h"

namespace lockstep {
namespace {

bool AreFew(size_t hosts, const Trace& trace) {
  return static_cast<double>(hosts) <= std::max(1.0, kMostAtOnce * static_cast<double>(trace.hosts.size()));
}

bool BeganWith(const SlowTransfers& transfers, const StepShift& shift) {
  return transfers.in_step.empty() && std::abs(transfers.first_step - shift.first_step) <= kSameOnsetSteps;
}

struct Payee {
  CounterfactualGain* gain;
  double excess_seconds;
};

}  // namespace

bool BeganWith(const SlowCause& cause, const StepShift& shift) {
  const Suspect& first = cause.suspects.front();
  return first.earliest_step() <= shift.first_step + kSameOnsetSteps &&
         shift.first_step <= first.first_step + kSameOnsetSteps;
}

bool TakesPart(double excess_seconds, const StepShift& shift) {
  return excess_seconds >= kMinorPart * (shift.after_seconds - shift.before_seconds);
}

void PayFromPast(const Trace& trace, const StepShift& shift, const std::vector<SlowCause>& causes,
                 const std::vector<SlowTransfers>& transfers, double min_cost, CounterfactualGains* gains) {
  const auto is_dear = [min_cost](const CounterfactualGain& gain) { return gain.slowdown() >= min_cost; };
  if (shift.in_some_steps() || std::any_of(gains->of_transfers.begin(), gains->of_transfers.end(), is_dear)) return;
  std::vector<Payee> since;
  std::set<int32_t> hosts;
  for (size_t i = 0; i < causes.size(); ++i) {
    if (!BeganWith(causes[i], shift) || causes[i].alone) continue;
    if (gains->of_ranks[i].Worth(trace.hosts.size()) >= min_cost) return;
    const Suspect& first = causes[i].suspects.front();
    if (!TakesPart(first.excess_seconds, shift)) continue;
    since.push_back({&gains->of_ranks[i], first.excess_seconds});
    hosts.insert(trace.ranks[static_cast<size_t>(first.rank)].host);
  }
  for (size_t i = 0; i < transfers.size(); ++i) {
    if (!BeganWith(transfers[i], shift) || !TakesPart(transfers[i].excess_seconds, shift)) continue;
    since.push_back({&gains->of_transfers[i], transfers[i].excess_seconds});
    hosts.insert(transfers[i].hosts.begin(), transfers[i].hosts.end());
  }
  if (!AreFew(hosts.size(), trace)) return;
  for (const Payee& payee : since) {
    *payee.gain = {.seconds_per_step = std::min(payee.excess_seconds, shift.lost_seconds()),
                   .step_seconds = shift.after_seconds,
                   .steps_affected = 1};
  }
}

}  // namespace lockstep
