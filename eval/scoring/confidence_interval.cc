#include "eval/scoring/confidence_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/random.h"

namespace lockstep {
namespace {

constexpr double kTwoSided95 = 1.959963985;
constexpr double kOneSided95 = 1.644853627;
constexpr int kResamples = 1000;
constexpr uint64_t kBootstrapSeed = 20'120'731;

}  // namespace

Interval WilsonInterval(int64_t successes, int64_t trials) {
  if (trials <= 0) return {};
  const double n = static_cast<double>(trials), share = static_cast<double>(successes) / n;
  const double z2 = kTwoSided95 * kTwoSided95;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kTwoSided95 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {successes == 0 ? 0 : std::max(0.0, middle - half), successes == trials ? 1 : std::min(1.0, middle + half)};
}

double PoissonUpperBound(int64_t count) {
  const double n = static_cast<double>(count) + 1;
  const double root = 1 - 1 / (9 * n) + kOneSided95 * std::sqrt(1 / (9 * n));
  return n * root * root * root;
}

double MeanOfGroupMeans(const std::vector<std::vector<double>>& groups) {
  double sum = 0;
  int counted = 0;
  for (const std::vector<double>& group : groups) {
    if (group.empty()) continue;
    double total = 0;
    for (const double value : group) total += value;
    sum += total / static_cast<double>(group.size());
    ++counted;
  }
  return counted == 0 ? 0 : sum / counted;
}

Interval BootstrapInterval(const std::vector<std::vector<double>>& groups) {
  if (std::all_of(groups.begin(), groups.end(), [](const auto& group) { return group.empty(); })) return {};
  Random random(kBootstrapSeed);
  std::vector<double> means(kResamples);
  std::vector<std::vector<double>> drawn = groups;
  for (double& mean : means) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (double& value : drawn[g]) value = groups[g][random.Below(groups[g].size())];
    }
    mean = MeanOfGroupMeans(drawn);
  }
  return {Percentile(means, 0.025), Percentile(means, 0.975)};
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto index = static_cast<ptrdiff_t>(std::clamp(std::ceil(share * (last + 1)) - 1, 0.0, last));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<size_t>(index)];
}

}  // namespace lockstep
