#include "detector/steps/step_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace lockstep {

std::vector<double> ModelSteps(const StepProfile& profile, absl::Span<const float> own_seconds) {
  CHECK(own_seconds.size() == profile.ranks() * profile.steps);
  std::map<std::pair<int32_t, int32_t>, int32_t> slot_of;  // (replica, stage), replica after replica
  for (const PlaceInJob& place : profile.places) slot_of.try_emplace({place.replica, place.stage}, 0);
  int32_t slots = 0;
  for (auto& [key, slot] : slot_of) slot = slots++;
  std::vector<size_t> slot(profile.ranks());
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    slot[rank] = static_cast<size_t>(slot_of.at({profile.places[rank].replica, profile.places[rank].stage}));
  }
  std::vector<double> model(profile.steps, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> stage_seconds(static_cast<size_t>(slots));
  for (size_t step = 0; step < profile.steps; ++step) {
    std::fill(stage_seconds.begin(), stage_seconds.end(), 0.0);
    for (size_t rank = 0; rank < profile.ranks(); ++rank) {
      const double own = static_cast<double>(own_seconds[rank * profile.steps + step]);
      if (!std::isnan(own)) stage_seconds[slot[rank]] = std::max(stage_seconds[slot[rank]], own);
    }
    double longest = 0;
    auto it = slot_of.begin();
    while (it != slot_of.end()) {
      const int32_t replica = it->first.first;
      double slowest = 0;
      double sum = 0;
      for (; it != slot_of.end() && it->first.first == replica; ++it) {
        slowest = std::max(slowest, stage_seconds[static_cast<size_t>(it->second)]);
        sum += stage_seconds[static_cast<size_t>(it->second)];
      }
      longest = std::max(longest, slowest + (sum - slowest) / std::max(1.0, profile.microbatches));
    }
    if (longest > 0) model[step] = longest;
  }
  return model;
}

double ModelGain(const StepProfile& profile, absl::Span<const float> counterfactual_own_seconds) {
  const std::vector<double> with = ModelSteps(profile, profile.own_seconds);
  const std::vector<double> without = ModelSteps(profile, counterfactual_own_seconds);
  double gained = 0;
  double total = 0;
  for (size_t step = 0; step < profile.steps; ++step) {
    if (std::isnan(with[step]) || std::isnan(without[step])) continue;
    const double actual = step < profile.step_seconds.size() ? profile.step_seconds[step] : with[step];
    if (std::isnan(actual) || actual <= 0) continue;
    gained += std::min(with[step], actual) * (1 - without[step] / with[step]);
    total += actual;
  }
  return total > 0 ? std::max(0.0, gained / total) : 0;
}

}  // namespace lockstep
