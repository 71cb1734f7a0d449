#include "eval/minder/normal_score.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

// Below this share of the mean, differences are what float arithmetic leaves of equal machines.
constexpr double kLeastRelativeDeviation = 1e-6;

}  // namespace

Eigen::ArrayXd NormalScores(const Eigen::ArrayXd& dissimilarity) {
  const Eigen::ArrayXd zero = Eigen::ArrayXd::Zero(dissimilarity.size());
  if (dissimilarity.size() == 0) return zero;
  const double mean = dissimilarity.mean();
  const double deviation = std::sqrt((dissimilarity - mean).square().mean());
  if (!std::isfinite(deviation) || !(deviation > kLeastRelativeDeviation * std::fabs(mean))) return zero;
  return (dissimilarity - mean) / deviation;
}

Candidate FindCandidate(const Eigen::ArrayXd& dissimilarity, const SimilarityThreshold& threshold) {
  if (dissimilarity.size() < kMinMinderMachines) return {};
  const Eigen::ArrayXd scores = NormalScores(dissimilarity);
  Eigen::Index machine = 0;
  const double score = scores.maxCoeff(&machine);
  const double most = std::sqrt(static_cast<double>(dissimilarity.size() - 1));
  if (score <= std::min(threshold.deviations, threshold.share_of_most * most)) return {};
  return {.machine = machine, .score = score};
}

}  // namespace lockstep
