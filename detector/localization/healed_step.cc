#include "detector/localization/healed_step.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lockstep {
namespace {

void AddHealing(const SlowCause& cause, Healing* healing) {
  for (const Suspect& suspect : cause.suspects) {
    Healing::OwnTime own{.rank = suspect.rank};
    if (cause.kind == SlowKind::kInput) {
      own.largest_less = static_cast<float>(ExcessOf(suspect));
    } else {
      const double healthy = 1 - ExcessOf(suspect) / std::max(suspect.own_seconds, 1e-9);
      own.scale = static_cast<float>(std::clamp(healthy, 0.0, 1.0));
    }
    healing->own.push_back(own);
  }
}

void AddHealing(const Ailment& ailment, int32_t step, Healing* healing) {
  if (!ailment.MayBeIn(step)) return;
  if (ailment.cause != nullptr) AddHealing(*ailment.cause, healing);
  for (const SlowTransfers* transfers : ailment.transfers) {
    if (!transfers->IsIn(step)) continue;
    for (const SlowChannel& slow : transfers->channels) {
      if (slow.first_step > step) continue;
      healing->channels.push_back(
          {.channel = slow.channel, .scale = static_cast<float>(1 / std::max(1.0, slow.ratio))});
    }
  }
}

// The step gains from healing ranks at most what others wait for them where they meet. Their excess may promise more:
// work beside a collective that a peer waits in leaves no trace in the records, and looks as if it were none.
double WaitedFor(const Ailment& ailment, const StepReplay& replay) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (ailment.cause == nullptr || !ailment.transfers.empty()) return kUnknown;
  std::vector<int32_t> ranks;
  for (const Suspect& suspect : ailment.cause->suspects) ranks.push_back(suspect.rank);
  std::sort(ranks.begin(), ranks.end());
  double most = -1;
  for (const int32_t rank : ranks) most = std::max(most, replay.WaitsFor(rank, ranks));
  return most < 0 ? kUnknown : most;
}

}  // namespace

// Where collectives run beside the work, peers that wait in them seem to work less than they do; but before the onset
// nobody waited, and the rank itself needed what it needs.
double ExcessOf(const Suspect& suspect) {
  if (suspect.before_seconds <= 0) return suspect.excess_seconds;
  return std::clamp(suspect.own_seconds - suspect.before_seconds, 0.0, suspect.excess_seconds);
}

Healing HealingOfAllBut(absl::Span<const Ailment> ailments, absl::Span<const size_t> left_out, int32_t step) {
  Healing healing;
  for (size_t i = 0; i < ailments.size(); ++i) {
    if (!std::binary_search(left_out.begin(), left_out.end(), i)) AddHealing(ailments[i], step, &healing);
  }
  return healing;
}

HealedStep HealStep(absl::Span<const Ailment> ailments, int32_t step, StepReplay* replay) {
  replay->Load(step);
  HealedStep healed{.step = step, .operations = replay->operations(), .hidden_share = replay->hidden_share()};
  std::tie(healed.recorded, healed.all_healed) = replay->RunBoth({}, HealingOfAllBut(ailments, {}, step));
  healed.path = replay->CriticalPath();
  healed.of_ailment.resize(ailments.size());
  for (const Ailment& ailment : ailments) healed.waited_for.push_back(WaitedFor(ailment, *replay));
  return healed;
}

HealedStep::Lengths HealOne(absl::Span<const Ailment> ailments, size_t number, StepReplay* replay) {
  Healing alone;
  AddHealing(ailments[number], replay->step(), &alone);
  const auto [with_alone, with_others] = replay->RunBoth(alone, HealingOfAllBut(ailments, {number}, replay->step()));
  return {.alone = with_alone, .others = with_others};
}

}  // namespace lockstep
