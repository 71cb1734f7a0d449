#include "detector/structure/stage_imbalance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/types/span.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"
#include "detector/structure/imbalance.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

// As many as a suspect needs (persistent_excess.h).
constexpr size_t kMinLayoutSteps = 4;

struct StepSpan {
  size_t first = 0;
  size_t end = 0;
};

// Middle own time of each rank over some of the steps.
std::vector<double> TypicalOwn(const StepProfile& profile, const StepSpan& span) {
  std::vector<double> typical(profile.ranks(), std::nan(""));
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> known;
    for (const float own : profile.OwnOf(rank).subspan(span.first, span.end - span.first)) {
      if (!std::isnan(own)) known.push_back(static_cast<double>(own));
    }
    typical[rank] = LowerMedianOrNan(std::move(known));
  }
  return typical;
}

// The replicas of each stage, counted through; by rank, and how many of each stage there are.
struct StageReplicas {
  std::vector<size_t> of_rank;
  std::vector<int32_t> stage;  // by number
};

StageReplicas NumberReplicas(const StepProfile& profile) {
  StageReplicas replicas;
  std::map<std::pair<int32_t, int32_t>, size_t> numbers;
  for (const PlaceInJob& place : profile.places) {
    const auto [number, fresh] = numbers.try_emplace({place.stage, place.replica}, numbers.size());
    if (fresh) replicas.stage.push_back(place.stage);
    replicas.of_rank.push_back(number->second);
  }
  return replicas;
}

// What each stage takes, from the own times of the ranks. Its quickest replicas bound what the stage itself costs: one
// slow machine does not move them. Empty = of some stage fewer than two replicas are known.
std::map<int32_t, double> TimeOfStages(const StageReplicas& replicas, absl::Span<const double> own_seconds) {
  std::vector<double> slowest_lane(replicas.stage.size(), std::nan(""));
  for (size_t rank = 0; rank < own_seconds.size(); ++rank) {
    double& slowest = slowest_lane[replicas.of_rank[rank]];
    slowest = std::fmax(slowest, own_seconds[rank]);
  }
  std::map<int32_t, std::vector<double>> known;
  for (size_t i = 0; i < slowest_lane.size(); ++i) {
    if (!std::isnan(slowest_lane[i])) known[replicas.stage[i]].push_back(slowest_lane[i]);
  }
  std::map<int32_t, double> of_stage;
  for (auto& [stage, seconds] : known) {
    if (seconds.size() < 2) return {};
    of_stage[stage] = Quantile(std::move(seconds), 0.25);
  }
  return of_stage;
}

struct LongestStage {
  int32_t stage = 0;
  double usual_seconds = 0;  // the middle of all; 0 = not known
  std::map<int32_t, double> of_stage;

  double times() const { return usual_seconds > 0 ? of_stage.at(stage) / usual_seconds : 0; }
};

LongestStage LongestOf(std::map<int32_t, double> of_stage) {
  LongestStage found;
  if (of_stage.size() < 2) return found;
  std::vector<double> all;
  for (const auto& [stage, seconds] : of_stage) all.push_back(seconds);
  found.usual_seconds = LowerMedianOrNan(std::move(all));
  found.stage = std::max_element(of_stage.begin(), of_stage.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
  found.of_stage = std::move(of_stage);
  return found;
}

// The layout of the work does not change while a job runs: where a stage becomes longer against the others, or shorter,
// the steps in which it is less so tell what is layout, and the rest has another cause.
StepSpan StepsOfLayout(const StepProfile& profile, const StageReplicas& replicas, int32_t stage) {
  std::vector<double> times, own(profile.ranks());
  std::vector<size_t> steps;
  for (size_t step = 0; step < profile.steps; ++step) {
    for (size_t rank = 0; rank < profile.ranks(); ++rank) own[rank] = static_cast<double>(profile.OwnOf(rank)[step]);
    LongestStage at = LongestOf(TimeOfStages(replicas, own));
    if (at.usual_seconds <= 0 || !at.of_stage.contains(stage)) continue;
    at.stage = stage;
    times.push_back(at.times());
    steps.push_back(step);
  }
  const LevelShift shift = FindLevelShift(times, kMinLayoutSteps);
  if (shift.at == 0 || shift.significance < kSureDeviations) return {0, profile.steps};
  if (shift.after > shift.before) return {0, steps[shift.at]};
  return {steps[shift.at], profile.steps};
}

}  // namespace

std::vector<StructuralFinding> FindStageImbalance(const StepProfile& profile, double min_gain) {
  const StageReplicas replicas = NumberReplicas(profile);
  LongestStage longest = LongestOf(TimeOfStages(replicas, TypicalOwn(profile, {0, profile.steps})));
  if (longest.usual_seconds <= 0) return {};
  const StepSpan layout = StepsOfLayout(profile, replicas, longest.stage);
  longest = LongestOf(TimeOfStages(replicas, TypicalOwn(profile, layout)));
  if (longest.usual_seconds <= 0) return {};
  const StepProfile others = WithoutSlowRanks(profile);
  std::vector<float> counterfactual = others.own_seconds;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const auto stage = longest.of_stage.find(profile.places[rank].stage);
    if (stage == longest.of_stage.end()) continue;  // nothing is known of any of its ranks
    const double factor = std::min(1.0, longest.usual_seconds / stage->second);
    for (size_t step = 0; step < profile.steps; ++step) {
      counterfactual[rank * profile.steps + step] *= static_cast<float>(factor);
    }
  }
  const double gain = ModelGain(others, counterfactual);
  if (gain < min_gain) return {};
  return {Throughout(VerdictClass::kStageImbalance, profile.steps, gain,
                     LongStage{.stage = longest.stage,
                               .times = longest.times(),
                               .replicas = static_cast<size_t>(
                                   std::count(replicas.stage.begin(), replicas.stage.end(), longest.stage))})};
}

}  // namespace lockstep
