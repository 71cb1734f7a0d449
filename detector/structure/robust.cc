#include "detector/structure/robust.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace lockstep {
namespace {

constexpr double kMadToDeviation = 1.4826;

}  // namespace

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double RobustDeviation(absl::Span<const double> values) {
  if (values.empty()) return 0;
  const double middle = Median({values.begin(), values.end()});
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kMadToDeviation * Median(std::move(distances));
}

double Correlation(absl::Span<const double> a, absl::Span<const double> b) {
  double n = 0, sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    n += 1;
    sum_a += a[i];
    sum_b += b[i];
    sum_aa += a[i] * a[i];
    sum_bb += b[i] * b[i];
    sum_ab += a[i] * b[i];
  }
  const double spread_a = sum_aa - sum_a * sum_a / n;
  const double spread_b = sum_bb - sum_b * sum_b / n;
  if (n < 3 || spread_a <= 0 || spread_b <= 0) return std::numeric_limits<double>::quiet_NaN();
  return (sum_ab - sum_a * sum_b / n) / std::sqrt(spread_a * spread_b);
}

}  // namespace lockstep
