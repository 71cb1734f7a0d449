// Values of one level, and others that lie apart from it, far above, whatever these are like.
//
// Where the others are of one level too, two_levels.h sees smaller differences. Here the level has to end at a gap of
// kSureDeviations standard deviations, of what these may be, known of so few values. Random values (normal, log-normal,
// exponential) hardly ever have such a gap behind a quarter of them and before four: one set in forty of 8, one in a
// hundred of 20.
// Pure. Cost O(n).

#ifndef LOCKSTEP_DETECTOR_STATS_LEVEL_APART_H_
#define LOCKSTEP_DETECTOR_STATS_LEVEL_APART_H_

#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {

// Of values in rising order, the first above the level; 0 when none lies apart. `least_below` (2 or more) and
// `least_above`: values on the two sides of the gap.
inline size_t FirstApart(absl::Span<const double> rising, size_t least_below, size_t least_above) {
  double mean = 0, squares = 0;  // about the mean
  for (size_t at = 1; at + least_above <= rising.size(); ++at) {
    const auto n = static_cast<double>(at);
    const double difference = rising[at - 1] - mean;
    mean += difference / n;
    squares += difference * (rising[at - 1] - mean);
    if (at < least_below) continue;
    const double sigma = std::sqrt(squares / (n - 1)) * (1 + kSureErrors / std::sqrt(2 * (n - 1)));
    if (rising[at] - rising[at - 1] > kSureDeviations * sigma) return at;
  }
  return 0;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_LEVEL_APART_H_
