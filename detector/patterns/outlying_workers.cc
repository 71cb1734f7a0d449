#include "detector/patterns/outlying_workers.h"

#include <algorithm>
#include <cmath>

#include "detector/stats/median.h"

namespace lockstep {
namespace {

constexpr float kDeviationPerMad = 1.4826F;    // of normal values
constexpr float kLeastBetaScatter = 0.003F;    // of the window; finer differences mean nothing
constexpr size_t kManyPeers = 16;              // fewer do not show all of their scatter
constexpr float kNegligibleBeta = 0.005F;      // no ratio is taken to less
constexpr double kCertain = 0.35;              // of the window above the usual: never chance
constexpr double kLeastDifference = 1e-9;      // instead of a division by zero
constexpr double kFewUncertain = 8;            // of so many workers, the scatter may be twice what they show
constexpr double kLeastGap = 1.5;              // between what those named take too long and what the next one does
constexpr size_t kFewPeers = 4;                // below, medians stand on one or two: twice the excess is asked
constexpr double kTriesPerFalseAlarm = 1'000;  // jobs like this one until chance accuses somebody

struct Centre {
  float median = 0;
  float scatter = 0;
};

Centre CentreOf(absl::Span<const float> values, float least_scatter) {
  std::vector<float> known;
  known.reserve(values.size());
  for (const float value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  if (known.empty()) return {0, least_scatter};
  Centre centre;
  centre.median = static_cast<float>(MedianOf(absl::MakeSpan(known)));
  for (float& value : known) value = std::fabs(value - centre.median);
  centre.scatter = std::max(least_scatter, kDeviationPerMad * static_cast<float>(MedianOf(absl::MakeSpan(known))));
  return centre;
}

// As many deviations of a normal value as chance hardly reaches in that many tests.
double HardlyReached(double tests) { return std::sqrt(2 * std::log(std::max(1.0, tests * kTriesPerFalseAlarm))); }

// Work differs by factors, so that what takes long differs more: the beta that chance hardly reaches by factors.
double LeastByRatio(absl::Span<const float> beta, const OutlyingLimits& limits) {
  std::vector<float> logarithms;
  logarithms.reserve(beta.size());
  for (const float value : beta) logarithms.push_back(std::log(std::max(value, kNegligibleBeta)));
  const bool few = beta.size() < kManyPeers;
  const double least_scatter = limits.least_relative_scatter * (few ? 2 : 1);
  // Among few, the one in question would count for much of the scatter, which is uncertain anyway.
  if (few) logarithms.erase(std::max_element(logarithms.begin(), logarithms.end()));
  const Centre centre = CentreOf(logarithms, 0);
  const double uncertain = 1 + kFewUncertain / static_cast<double>(beta.size());
  // Beside a small beta, differences that mean nothing are factors too. They are none of the work, and do not multiply.
  const double usual = std::exp(static_cast<double>(centre.median));
  const double seen = static_cast<double>(centre.scatter);
  const double fine = std::min(seen, static_cast<double>(kLeastBetaScatter) / usual);
  const double of_work = std::max(least_scatter, uncertain * std::sqrt(seen * seen - fine * fine));
  const double reach = HardlyReached(limits.tests);
  return usual * (std::exp(reach * of_work) + reach * uncertain * fine);
}

// How many of `excesses`, the largest first, lie above the widest gap; `next` is the largest of those who cannot be
// named.
size_t AboveWidestGap(const std::vector<double>& excesses, double next) {
  size_t above = 0;
  double widest = kLeastGap;
  for (size_t i = excesses.size(); i > 0; --i) {
    const double excess = excesses[i - 1];
    if (excess > widest * next) {
      above = i;
      widest = excess / std::max(next, kLeastDifference);
    }
    next = excess;
  }
  return above;
}

}  // namespace

std::vector<float> ScaledDistances(absl::Span<const float> values, float least_scatter) {
  const Centre centre = CentreOf(values, least_scatter);
  std::vector<float> distances(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    distances[i] = std::min(kMostDistance, std::fabs(values[i] - centre.median) / centre.scatter);
  }
  return distances;
}

OutlyingWorkers FindOutlyingWorkers(absl::Span<const float> beta, absl::Span<const float> other_distance,
                                    const OutlyingLimits& limits) {
  OutlyingWorkers outlying;
  const size_t workers = beta.size();
  if (workers < 2) return outlying;
  // Of two, the one that takes less is the usual one.
  Centre centre = CentreOf(beta, kLeastBetaScatter);
  if (workers == 2) centre = {std::min(beta[0], beta[1]), kLeastBetaScatter};
  const double least_excess = limits.least_excess * (workers < kFewPeers ? 2 : 1);
  const double sure_excess = std::min(kCertain, HardlyReached(limits.tests) * static_cast<double>(centre.scatter));
  const double sure_beta = std::min(static_cast<double>(centre.median) + kCertain, LeastByRatio(beta, limits));
  const auto excess_of = [&](uint32_t worker) { return static_cast<double>(beta[worker] - centre.median); };
  std::vector<uint32_t> above;
  double next = 0;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const double excess = excess_of(worker);
    if (static_cast<double>(beta[worker]) > limits.least_beta && excess >= least_excess) {
      above.push_back(worker);
    } else {
      next = std::max(next, excess);
    }
  }
  if (above.empty()) return outlying;
  std::vector<float> distances = ScaledDistances(beta, kLeastBetaScatter);
  for (size_t i = 0; workers >= kManyPeers && i < workers; ++i) distances[i] += other_distance[i];
  const Centre usual = CentreOf(distances, 0);
  outlying.usual_beta = centre.median;
  outlying.threshold = usual.median + limits.mads * usual.scatter / kDeviationPerMad;
  std::sort(above.begin(), above.end(), [&](uint32_t a, uint32_t b) { return beta[a] > beta[b]; });
  std::vector<double> excesses;
  for (const uint32_t worker : above) excesses.push_back(excess_of(worker));
  above.resize(AboveWidestGap(excesses, next));
  if (static_cast<double>(above.size()) > std::max(1.0, kMostOutlyingShare * static_cast<double>(workers)))
    above.clear();
  // Of those who stay together, most have to be beyond chance. Two workers are each other's median: only the excess can
  // tell.
  const auto sure = std::count_if(above.begin(), above.end(), [&](uint32_t worker) {
    return excess_of(worker) >= sure_excess && static_cast<double>(beta[worker]) >= sure_beta &&
           (workers == 2 || distances[worker] > outlying.threshold);
  });
  if (2 * static_cast<size_t>(sure) < above.size()) above.clear();
  if (above.empty()) return outlying;
  std::vector<float> theirs;
  outlying.distance = distances[above.front()];
  for (const uint32_t worker : above) {
    theirs.push_back(beta[worker]);
    outlying.distance = std::min(outlying.distance, static_cast<double>(distances[worker]));
  }
  outlying.beta = MedianOf(absl::MakeSpan(theirs));
  std::sort(above.begin(), above.end());
  outlying.places = std::move(above);
  return outlying;
}

}  // namespace lockstep
