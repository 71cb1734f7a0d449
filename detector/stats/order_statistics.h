// Order statistics in place, for hot loops: the vectors are reordered. Pure.

#ifndef LOCKSTEP_DETECTOR_STATS_ORDER_STATISTICS_H_
#define LOCKSTEP_DETECTOR_STATS_ORDER_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/median.h"

namespace lockstep {

// From a median absolute deviation to the standard deviation of a normal distribution.
inline constexpr double kMadToSigma = 1.4826;
// Standard error of the median of n normal values, over that of their mean: sqrt(pi / 2).
inline constexpr double kErrorOfMedian = 1.2533;
// Normal noise goes further once in 1e9 looks: a job of 8,192 ranks and 1,000 steps is 1e7 of them.
inline constexpr double kSureDeviations = 6;
// 95 of 100 estimates lie within so many of their standard errors.
inline constexpr double kSureErrors = 2;

inline double ToSeconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / static_cast<double>(kNanosPerSecond);
}

// Mean of the two middle ones of an even number; 0 when empty.
inline double MedianInPlace(std::vector<double>* values) {
  if (values->empty()) return 0;
  const double upper = UpperMedian(values);
  if (values->size() % 2 == 1) return upper;
  return (upper + *std::max_element(values->begin(), values->begin() + static_cast<int64_t>(values->size() / 2))) / 2;
}

// Robust standard deviation about `center`.
inline double SigmaInPlace(std::vector<double>* values, double center) {
  for (double& value : *values) value = std::abs(value - center);
  return kMadToSigma * MedianInPlace(values);
}

// Standard error of their middle, `center`; 0 when empty.
inline double ErrorOfMiddle(std::vector<double>* values, double center) {
  if (values->empty()) return 0;
  const double root = std::sqrt(static_cast<double>(values->size()));
  return SigmaInPlace(values, center) / root;
}

// Robust standard deviation from the shortest interval that holds half of the values: right even when half of
// them belong to another, displaced crowd (the ranks of one slow host among those of two).
inline double SigmaOfShortestHalf(std::vector<double>* values) {
  if (values->size() < 2) return 0;
  std::sort(values->begin(), values->end());
  const size_t half = (values->size() + 1) / 2 - 1;  // places from the first to the last of a half
  double width = values->back() - values->front();
  for (size_t i = 0; i + half < values->size(); ++i) width = std::min(width, (*values)[i + half] - (*values)[i]);
  return width * kMadToSigma / 2;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_ORDER_STATISTICS_H_
