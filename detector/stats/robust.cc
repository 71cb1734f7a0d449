#include "detector/stats/robust.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/median.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {

std::vector<double> Known(absl::Span<const double> values) {
  std::vector<double> known;
  for (const double value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  return known;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  return ElementAt(at, &values);
}

double LowerMedianOrNan(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double RobustDeviation(absl::Span<const double> values) {
  if (values.empty()) return 0;
  const double middle = LowerMedianOrNan({values.begin(), values.end()});
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kMadToSigma * LowerMedianOrNan(std::move(distances));
}

}  // namespace lockstep
