#include "detector/slow/counterfactual_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

namespace lockstep {
namespace {

double OverPast(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  const auto row = static_cast<size_t>(suspect.rank);
  return static_cast<double>(profile.Row(profile.shared, row)[static_cast<size_t>(step)]) - suspect.before_seconds;
}

double OverPeers(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  return static_cast<double>(profile.Row(profile.excess, static_cast<size_t>(suspect.rank))[static_cast<size_t>(step)]);
}

// Seconds by which it exceeds what it is compared with; NaN = unknown.
double Excess(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  return suspect.against_past ? OverPast(suspect, profile, step) : OverPeers(suspect, profile, step);
}

// The same, at most what it exceeds its own other steps by.
double MoreInStep(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  const double excess = Excess(suspect, profile, step);
  if (suspect.before_seconds <= 0 || std::isnan(excess)) return excess;
  return std::min(OverPast(suspect, profile, step), excess);
}

// What is slow in some steps needs in each what it needs in it, not what it usually does. Work that the routing decides
// is as much slower.
double ScaleInStep(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  const double more = MoreInStep(suspect, profile, step);
  const auto own =
      static_cast<double>(profile.Row(profile.shared, static_cast<size_t>(suspect.rank))[static_cast<size_t>(step)]);
  return own > 0 && !std::isnan(more) ? std::clamp(1 - more / own, 0.0, 1.0) : 1;
}

void AddCounterfactual(const Ailment& ailment, const SlowCause& cause, int32_t step, Counterfactual* counterfactual) {
  // A host that is slow in the step slows all its ranks, some of them by little.
  const bool host_is_slow = cause.whole_host && ailment.IsIn(step);
  for (const Suspect& suspect : cause.suspects) {
    Counterfactual::OwnTime own{.rank = suspect.rank};
    if (suspect.in_some_steps()) {
      const bool is_slow = host_is_slow || ExcessInStep(suspect, *ailment.profile, step) > 0;
      if (is_slow) own.scale = static_cast<float>(ScaleInStep(suspect, *ailment.profile, step));
    } else if (cause.kind == SlowKind::kInput) {
      own.less = static_cast<float>(ExcessOf(suspect));
    } else {
      const double healthy = 1 - ExcessOf(suspect) / std::max(suspect.own_seconds, 1e-9);
      own.scale = static_cast<float>(std::clamp(healthy, 0.0, 1.0));
    }
    counterfactual->own.push_back(own);
  }
}

void AddCounterfactual(const Ailment& ailment, int32_t step, Counterfactual* counterfactual) {
  if (!ailment.MayBeIn(step)) return;
  if (ailment.cause != nullptr) AddCounterfactual(ailment, *ailment.cause, step, counterfactual);
  for (const SlowTransfers* transfers : ailment.transfers) {
    if (!transfers->IsIn(step)) continue;
    for (const SlowChannel& slow : transfers->channels) {
      if (slow.first_step > step) continue;
      counterfactual->channels.push_back(
          {.channel = slow.channel, .scale = static_cast<float>(1 / std::max(1.0, slow.ratio))});
    }
  }
}

}  // namespace

// Where collectives run beside the work, peers that wait in them seem to work less than they do. What the rank itself
// needed before its onset tells more, and what of the peers' work is seen: the more they needed, the less it exceeds.
double ExcessOf(const Suspect& suspect) {
  const double healthy = std::max(suspect.before_seconds, suspect.needed_seconds);
  if (healthy <= 0) return suspect.excess_seconds;
  return std::clamp(suspect.own_seconds - healthy, 0.0, suspect.excess_seconds);
}

double ExcessInStep(const Suspect& suspect, const OwnProfile& profile, int32_t step) {
  const double excess = Excess(suspect, profile, step);
  if (std::isnan(excess) || excess < suspect.slow_above_seconds) return 0;
  return std::max(0.0, MoreInStep(suspect, profile, step));
}

bool Ailment::IsIn(int32_t step) const {
  if (!MayBeIn(step) || cause == nullptr || profile == nullptr) return MayBeIn(step);
  return std::any_of(cause->suspects.begin(), cause->suspects.end(), [&](const Suspect& suspect) {
    return !suspect.in_some_steps() || ExcessInStep(suspect, *profile, step) > 0;
  });
}

Counterfactual CounterfactualOfAllBut(absl::Span<const Ailment> ailments, absl::Span<const size_t> left_out,
                                      int32_t step) {
  Counterfactual counterfactual;
  for (size_t i = 0; i < ailments.size(); ++i) {
    if (!std::binary_search(left_out.begin(), left_out.end(), i)) AddCounterfactual(ailments[i], step, &counterfactual);
  }
  return counterfactual;
}

Counterfactual CounterfactualOf(absl::Span<const Ailment> ailments, absl::Span<const size_t> numbers, int32_t step) {
  Counterfactual counterfactual;
  for (const size_t number : numbers) AddCounterfactual(ailments[number], step, &counterfactual);
  return counterfactual;
}

CounterfactualStep ReplayCounterfactuals(absl::Span<const Ailment> ailments, int32_t step, StepReplay* replay) {
  replay->Load(step);
  CounterfactualStep counterfactual{
      .step = step, .operations = replay->operations(), .hidden_share = replay->hidden_share()};
  std::tie(counterfactual.recorded, counterfactual.all_removed) =
      replay->RunBoth({}, CounterfactualOfAllBut(ailments, {}, step));
  counterfactual.path = replay->CriticalPath();
  counterfactual.of_ailment.resize(ailments.size());
  return counterfactual;
}

CounterfactualStep::Lengths ReplayWithoutOne(absl::Span<const Ailment> ailments, size_t number, StepReplay* replay) {
  const auto [with_alone, with_others] = replay->RunBoth(CounterfactualOf(ailments, {number}, replay->step()),
                                                         CounterfactualOfAllBut(ailments, {number}, replay->step()));
  return {.alone = with_alone, .others = with_others};
}

}  // namespace lockstep
