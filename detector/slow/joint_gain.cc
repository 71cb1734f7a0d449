#include "detector/slow/joint_gain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "detector/slow/step_replay.h"
#include "detector/stats/sampled_mean.h"

namespace lockstep {
namespace {

// Of a step's length, as of replay_accounts.h: a replay that is further off tells of another step.
constexpr double kMaxUnlike = 0.2;

// Usual steps, spread evenly over their lengths.
std::vector<int32_t> StepsToReplay(const TraceAnalysis& analysis, size_t removals, size_t most) {
  std::vector<std::pair<double, int32_t>> lengths;
  for (int32_t step = 0; step < analysis.steps.steps; ++step) {
    const auto at = static_cast<size_t>(step);
    if (analysis.steps.usual[at] != 0 && analysis.steps.step_seconds[at] > 0) {
      lengths.emplace_back(analysis.steps.step_seconds[at], step);
    }
  }
  std::sort(lengths.begin(), lengths.end());
  const size_t operations = analysis.trace->operations.size() / std::max<size_t>(1, analysis.profile.steps);
  const size_t runs = 2 + removals;  // preparing it, as recorded, and one for each
  const size_t affordable = kMaxJointOperations / std::max<size_t>(1, runs * operations);
  std::vector<int32_t> steps;
  for (const size_t place : SpreadOrder(lengths.size(), std::clamp<size_t>(affordable, 1, most))) {
    steps.push_back(lengths[place].second);
  }
  return steps;
}

// Beginnings of the list, each with its numbers in rising order.
std::vector<std::vector<size_t>> Beginnings(absl::Span<const std::vector<size_t>> removals) {
  std::vector<std::vector<size_t>> beginnings;
  std::vector<size_t> all;
  for (const std::vector<size_t>& removal : removals) {
    all.insert(all.end(), removal.begin(), removal.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    beginnings.push_back(all);
  }
  return beginnings;
}

}  // namespace

std::vector<JointGain> GainsTogether(const TraceAnalysis& analysis, absl::Span<const Ailment> ailments,
                                     absl::Span<const std::vector<size_t>> removals, size_t most_steps) {
  const std::vector<std::vector<size_t>> beginnings = Beginnings(removals);
  std::vector<JointGain> gains(removals.size());
  StepReplay replay(analysis);
  size_t replayed = 0;
  for (const int32_t step : StepsToReplay(analysis, removals.size(), most_steps)) {
    replay.Load(step);
    const double recorded = replay.Run({});
    const double surplus = recorded / analysis.steps.step_seconds[static_cast<size_t>(step)] - 1;
    if (recorded <= 0 || std::abs(surplus) > kMaxUnlike) continue;
    ++replayed;
    for (size_t i = 0; i < removals.size(); ++i) {
      const auto [alone, together] = replay.RunBoth(CounterfactualOf(ailments, removals[i], step),
                                                    CounterfactualOf(ailments, beginnings[i], step));
      gains[i].alone_seconds += std::max(0.0, recorded - alone);
      gains[i].together_seconds += std::max(0.0, recorded - together);
      const auto is_there = [&](size_t number) { return ailments[number].IsIn(step); };
      gains[i].steps += std::any_of(removals[i].begin(), removals[i].end(), is_there) ? 1 : 0;
    }
  }
  if (replayed == 0) return {};
  double before = 0;
  for (JointGain& gain : gains) {
    gain.alone_seconds /= static_cast<double>(replayed);
    gain.together_seconds = before = std::max(before, gain.together_seconds / static_cast<double>(replayed));
  }
  return gains;
}

}  // namespace lockstep
