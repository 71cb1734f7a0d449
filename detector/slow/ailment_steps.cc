#include "detector/slow/ailment_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "detector/slow/slow_cause.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/slow_transfers.h"

namespace lockstep {
namespace {

// The fewest of which a median leaves one out.
constexpr size_t kMinTypicalSteps = 3;

// Of the middle one of its ranks: lost records may hide one of a host in a step in which the others are seen.
double ShareOfSteps(const SlowCause& cause) {
  std::vector<double> shares;
  for (const Suspect& suspect : cause.suspects) shares.push_back(suspect.share_of_steps);
  return MedianInPlace(&shares);
}

}  // namespace

std::vector<int32_t> AilmentSteps::ByLength(const Ailment& ailment) const {
  std::map<size_t, std::vector<std::pair<double, int32_t>>> by_others;
  for (int32_t step = ailment.first_step; step <= ailment.last_step; ++step) {
    if (!Known(ailment, step)) continue;
    by_others[OthersIn(ailment, step)].emplace_back(analysis_.steps.step_seconds[static_cast<size_t>(step)], step);
  }
  std::vector<std::pair<double, int32_t>> lengths;
  for (const auto& [others, steps] : by_others) {
    if (lengths.size() >= kMinTypicalSteps) break;
    lengths.insert(lengths.end(), steps.begin(), steps.end());
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<int32_t> sorted;
  for (const auto& [length, step] : lengths) sorted.push_back(step);
  return sorted;
}

size_t AilmentSteps::OthersIn(const Ailment& ailment, int32_t step) const {
  return static_cast<size_t>(std::count_if(ailments_.begin(), ailments_.end(), [&](const Ailment& other) {
    return &other != &ailment && other.IsIn(step);
  }));
}

bool AilmentSteps::Known(const Ailment& ailment, int32_t step) const {
  const auto at = static_cast<size_t>(step);
  const Suspect* const strongest = ailment.strongest();
  if (strongest == nullptr) return TransfersMatter(ailment, step) && ailment.transfers.front()->IsIn(step);
  if (!ailment.IsIn(step)) return false;
  if (strongest->in_some_steps()) return analysis_.steps.usual[at] != 0;
  return !std::isnan(analysis_.profile.own[static_cast<size_t>(strongest->rank) * analysis_.profile.steps + at]);
}

bool AilmentSteps::TransfersMatter(const Ailment& ailment, int32_t step) const {
  const auto at = static_cast<size_t>(step);
  const SlowTransfers& slow = *ailment.transfers.front();
  return analysis_.steps.step_seconds[at] > 0 &&
         (analysis_.steps.usual[at] != 0 || (!slow.in_step.empty() && slow.IsIn(step)));
}

double AilmentSteps::AffectedShare(const Ailment& ailment) const {
  int32_t since = 0, within = 0;
  for (int32_t step = ailment.first_step; ailment.cause == nullptr && step < analysis_.steps.steps; ++step) {
    if (!TransfersMatter(ailment, step)) continue;
    ++since;
    within += ailment.transfers.front()->IsIn(step) ? 1 : 0;
  }
  if (ailment.cause == nullptr) return since == 0 ? 0 : static_cast<double>(within) / since;
  for (int32_t step = ailment.first_step; step < analysis_.steps.steps; ++step) {
    if (analysis_.steps.usual[static_cast<size_t>(step)] == 0) continue;
    ++since;
    within += step <= ailment.latest_step;
  }
  return since == 0 ? 0 : ShareOfSteps(*ailment.cause) * within / since;
}

double AilmentSteps::SecondsWithout(const Ailment& ailment) const {
  double seconds = 0;
  size_t steps = 0;
  for (int32_t step = ailment.first_step; step < analysis_.steps.steps; ++step) {
    const auto at = static_cast<size_t>(step);
    if (analysis_.steps.usual[at] == 0 || analysis_.steps.step_seconds[at] <= 0 || ailment.IsIn(step)) continue;
    seconds += analysis_.steps.step_seconds[at];
    ++steps;
  }
  return steps == 0 ? 0 : seconds / static_cast<double>(steps);
}

double AilmentSteps::SecondsBeforeAll() const {
  std::vector<double> lengths;
  for (int32_t step = 0; step < analysis_.steps.steps; ++step) {
    const auto at = static_cast<size_t>(step);
    if (std::any_of(ailments_.begin(), ailments_.end(),
                    [step](const Ailment& ailment) { return ailment.earliest_step <= step; }))
      break;
    if (analysis_.steps.usual[at] != 0 && analysis_.steps.step_seconds[at] > 0) {
      lengths.push_back(analysis_.steps.step_seconds[at]);
    }
  }
  return lengths.size() < kMinPastSteps ? 0 : MedianInPlace(&lengths);
}

}  // namespace lockstep
