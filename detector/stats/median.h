// The median of the values of one tick.
//
// Values lie around their median, so that whether one is below a pivot is a coin toss: a branch on it is mispredicted
// half of the time, which is what std::nth_element spends its time on. Here values are swapped in either case (Lomuto's
// scheme), and only the count tells. O(n) expected, O(n log n) at worst. Pure.

#ifndef LOCKSTEP_DETECTOR_STATS_MEDIAN_H_
#define LOCKSTEP_DETECTOR_STATS_MEDIAN_H_

#include "absl/types/span.h"

namespace lockstep {

// Of an even number of values the mean of the two in the middle. Reorders `values`: at least one, none of them NaN.
double MedianOf(absl::Span<float> values);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_MEDIAN_H_
