// Whether what happens in some steps comes back at equal intervals: then the program plans it. What comes back within a
// few steps is no such plan: nobody writes a checkpoint or evaluates that often, and a stretch of steps in a row has
// equal intervals as well. Nor is what stayed away at first: a plan is as old as the job. Pure. Cost O(n).

#ifndef LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_
#define LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_

#include <cstddef>

#include "absl/types/span.h"
#include "base/shares.h"

namespace lockstep {

// In steps: nearly all go without what is planned.
inline constexpr auto kShortestPlanned = static_cast<size_t>(1 / (1 - kNearlyAll));
static_assert(kShortestPlanned == 5);

// One interval from the start of the recording, which may begin anywhere in it, and one that its first steps hide.
inline constexpr size_t kMostIntervalsBefore = 2;

// Two intervals at least. `steps` rising, from 0 for the first of the recording.
inline bool AtEqualIntervals(absl::Span<const size_t> steps) {
  bool equal = steps.size() >= 3 && steps[1] - steps[0] >= kShortestPlanned &&
               steps[0] < kMostIntervalsBefore * (steps[1] - steps[0]);
  for (size_t i = 2; i < steps.size(); ++i) equal = equal && steps[i] - steps[i - 1] == steps[1] - steps[0];
  return equal;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_REGULAR_INTERVALS_H_
