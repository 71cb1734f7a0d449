// Whether what happens in some steps comes back at equal intervals: then the program plans it. Pure. Cost O(n).

#ifndef LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_
#define LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_

#include <cstddef>

#include "absl/types/span.h"

namespace lockstep {

// Two intervals at least. `steps` rising.
inline bool AtEqualIntervals(absl::Span<const size_t> steps) {
  bool equal = steps.size() >= 3;
  for (size_t i = 2; i < steps.size(); ++i) equal = equal && steps[i] - steps[i - 1] == steps[1] - steps[0];
  return equal;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_
