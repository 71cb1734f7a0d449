// Two levels that values fall into: the split that leaves the least squares about the two means.
//
// Pure. Cost O(n).

#ifndef LOCKSTEP_DETECTOR_STATS_TWO_LEVELS_H_
#define LOCKSTEP_DETECTOR_STATS_TWO_LEVELS_H_

#include <cmath>
#include <cstddef>

#include "absl/types/span.h"

namespace lockstep {

struct TwoLevels {
  size_t at = 0;  // the higher level begins there; 0 = there are no two
  double lower = 0;
  double higher = 0;
  double within = 0;  // standard deviation about the level

  double middle() const { return (lower + higher) / 2; }
};

// Of values in rising order.
inline TwoLevels SplitTwoLevels(absl::Span<const double> rising) {
  TwoLevels best;
  double total = 0, squares = 0, before = 0, most = 0;
  for (const double value : rising) {
    total += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(rising.size());
  for (size_t at = 1; at < rising.size(); ++at) {
    before += rising[at - 1];
    const auto n = static_cast<double>(at), rest = count - n;
    const double lower = before / n, higher = (total - before) / rest;
    const double between = n * rest * (higher - lower) * (higher - lower);
    if (between <= most) continue;
    most = between;
    best = {at, lower, higher, 0};
  }
  const double left = squares - total * total / count - most / count;
  if (rising.size() > 2) best.within = std::sqrt(left > 0 ? left / (count - 2) : 0);
  return best;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_TWO_LEVELS_H_
