#include "detector/structure/sequence_imbalance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"
#include "detector/structure/rotation.h"

namespace lockstep {
namespace {

// A correlation of so few is wrong by a third.
constexpr size_t kMinSteps = 10;
// Own time of equal work varies by 1 to 2 % from step to step, of batches of different length by 20 to 40 %.
constexpr double kMinVariationAlone = 0.05;
// By judgement, not measured.
constexpr size_t kMinReplicasAlone = 4;
// Variance of replicas over that of chance, which gives 1; noise that ranks of one replica share made up to 6.
constexpr double kMinAgreement = 8;

// Logarithms of what is compared, by rank and step; the middle of the stage in each step taken off.
class Relative {
 public:
  explicit Relative(const StepProfile& profile) : profile_(profile) {
    const std::vector<float>& seconds =
        profile.unrouted_seconds.empty() ? profile.own_seconds : profile.unrouted_seconds;
    values_.reserve(seconds.size());
    for (const float value : seconds) values_.push_back(std::log(static_cast<double>(value)));
    for (size_t rank = 0; rank < profile.ranks(); ++rank) stages_[profile.places[rank].stage].push_back(rank);
  }

  // From one step to the next; the first step stays without.
  void TakeChanges() {
    for (size_t rank = 0; rank < profile_.ranks(); ++rank) {
      for (size_t step = profile_.steps - 1; step > 0; --step) At(rank, step) -= At(rank, step - 1);
      At(rank, 0) = std::nan("");
    }
  }

  // What a rank is always.
  void TakeOffRanks() {
    for (size_t rank = 0; rank < profile_.ranks(); ++rank) {
      const auto row = absl::MakeConstSpan(values_).subspan(rank * profile_.steps, profile_.steps);
      const double middle = MiddleOfFinite({row.begin(), row.end()});
      for (size_t step = 0; step < profile_.steps; ++step) At(rank, step) -= middle;
    }
  }

  // What the ranks of a stage have in common in a step.
  void TakeOffStages() {
    for (const auto& [stage, ranks] : stages_) {
      for (size_t step = 0; step < profile_.steps; ++step) {
        std::vector<double> values;
        for (const size_t rank : ranks) values.push_back(At(rank, step));
        const double middle = MiddleOfFinite(values);
        for (const size_t rank : ranks) At(rank, step) -= middle;
      }
    }
  }

  double& At(size_t rank, size_t step) { return values_[rank * profile_.steps + step]; }

 private:
  // Of those that are finite, between the two middle ones of an even number: of two replicas neither is the usual one.
  // NaN without any.
  static double MiddleOfFinite(std::vector<double> values) {
    values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }),
                 values.end());
    return values.empty() ? std::nan("") : MedianInPlace(&values);
  }

  const StepProfile& profile_;
  std::map<int32_t, std::vector<size_t>> stages_;
  std::vector<double> values_;
};

std::map<int32_t, std::vector<size_t>> Replicas(const StepProfile& profile) {
  std::map<int32_t, std::vector<size_t>> replicas;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) replicas[profile.places[rank].replica].push_back(rank);
  return replicas;
}

std::vector<double> KnownOf(const std::vector<size_t>& ranks, size_t step, Relative* relative) {
  std::vector<double> known;
  for (const size_t rank : ranks) {
    const double value = relative->At(rank, step);
    if (std::isfinite(value)) known.push_back(value);
  }
  return known;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Replicas against each other, and the ranks of each among themselves.
void CompareChanges(const StepProfile& profile, BatchVariation* variation) {
  Relative changes(profile);
  changes.TakeChanges();
  changes.TakeOffStages();
  std::vector<double> between, within, members;
  for (const auto& [replica, ranks] : Replicas(profile)) {
    for (size_t step = 1; step < profile.steps; ++step) {
      const std::vector<double> known = KnownOf(ranks, step, &changes);
      if (known.empty()) continue;
      const double mean = MeanOf(known);
      between.push_back(mean);
      if (known.size() < 2) continue;
      const auto n = static_cast<double>(known.size());
      members.push_back(n);
      for (const double value : known) within.push_back((value - mean) * std::sqrt(n / (n - 1)));
    }
  }
  variation->of_replicas = RobustDeviation(between) / std::sqrt(2.0);
  const double chance = RobustDeviation(within) / std::sqrt(2.0);
  if (members.empty()) return;
  const double ratio = variation->of_replicas / std::max(chance, 1e-12);
  variation->agreement = ratio * ratio * LowerMedianOrNan(std::move(members));
}

double RotationOf(const StepProfile& profile) {
  Relative relative(profile);
  relative.TakeOffRanks();
  relative.TakeOffStages();
  const std::map<int32_t, std::vector<size_t>> replicas = Replicas(profile);
  std::vector<size_t> worst;
  for (size_t step = 0; step < profile.steps; ++step) {
    double most = -HUGE_VAL;
    size_t at = replicas.size();
    size_t number = 0;
    for (const auto& [replica, ranks] : replicas) {
      const std::vector<double> known = KnownOf(ranks, step, &relative);
      const double mean = known.empty() ? -HUGE_VAL : MeanOf(known);
      if (mean > most) {
        most = mean;
        at = number;
      }
      ++number;
    }
    if (at < replicas.size()) worst.push_back(at);
  }
  return RotationEntropy(std::move(worst), replicas.size());
}

// More than the longest of so many batches can cost, if each micro-batch waits for it: the largest of n normal values
// is about sqrt(2 ln n) deviations out, and a micro-batch varies sqrt(m) times as much as the sum of m.
double MostThatBatchesCost(const StepProfile& profile, const BatchVariation& variation) {
  const double out = std::sqrt(2 * std::log(static_cast<double>(variation.replicas) + 1));
  return variation.of_replicas * std::sqrt(std::max(1.0, profile.microbatches)) * out;
}

// With the middle of the peers' own time for everybody.
double ModelledGain(const StepProfile& profile) {
  std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> peers;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    peers[{profile.places[rank].stage, profile.places[rank].lane}].push_back(rank);
  }
  std::vector<float> counterfactual = profile.own_seconds;
  std::vector<double> values;
  for (const auto& [place, ranks] : peers) {
    for (size_t step = 0; step < profile.steps; ++step) {
      values.clear();
      for (const size_t rank : ranks)
        values.push_back(static_cast<double>(counterfactual[rank * profile.steps + step]));
      const auto middle = static_cast<float>(LowerMedianOrNan(Known(values)));
      for (const size_t rank : ranks) counterfactual[rank * profile.steps + step] = middle;
    }
  }
  return ModelGain(profile, counterfactual);
}

}  // namespace

BatchVariation MeasureBatchVariation(const StepProfile& profile) {
  BatchVariation variation;
  variation.replicas = Replicas(profile).size();
  if (profile.steps < kMinSteps || variation.replicas < 2) return variation;
  CompareChanges(profile, &variation);
  variation.rotation = RotationOf(profile);
  return variation;
}

std::vector<StructuralFinding> FindSequenceImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                     bool hot_experts, double min_gain) {
  const BatchVariation variation = MeasureBatchVariation(profile);
  if (variation.rotation < kGoesRound) return {};
  const bool fellows = variation.agreement > 0;
  if (fellows && variation.agreement < kMinAgreement) return {};
  if (!fellows && (variation.of_replicas < kMinVariationAlone || variation.replicas < kMinReplicasAlone)) return {};
  double share = gain ? gain(hot_experts ? UnevenWork::kUnroutedBatches : UnevenWork::kBatches) : -1;
  if (share < 0) share = ModelledGain(profile);
  share = std::min(share, MostThatBatchesCost(profile, variation));
  if (share < min_gain) return {};
  return {Throughout(VerdictClass::kSequenceImbalance, profile.steps, share,
                     VaryingBatches{.replicas = variation.replicas,
                                    .variation = variation.of_replicas,
                                    .rotation = variation.rotation,
                                    .fellows_agree = fellows})};
}

}  // namespace lockstep
