// Order statistics that a few wild values cannot move. Values are taken by copy where they must be reordered. Pure.

#ifndef LOCKSTEP_DETECTOR_STATS_ROBUST_H_
#define LOCKSTEP_DETECTOR_STATS_ROBUST_H_

#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Without NaNs.
std::vector<double> Known(absl::Span<const double> values);
// The value below which `share` (0 to 1) of the values lie: an element, no interpolation. NaN when empty.
double Quantile(std::vector<double> values, double share);
// The lower middle one of an even number: an element. NaN when empty.
double LowerMedianOrNan(std::vector<double> values);
// Median absolute deviation from the median, scaled to a standard deviation of normal values. 0 when empty.
double RobustDeviation(absl::Span<const double> values);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_ROBUST_H_
