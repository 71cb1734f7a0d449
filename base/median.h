// The middle one of some values, by each of the rules for an even number of them. Pure.
//
// Rules are named, because results differ: of counts and of steps the upper one is taken, of intervals the lower one,
// and of measurements the mean of both (MedianInPlace in detector/stats/order_statistics.h) or the lower one
// (LowerMedianOrNan in detector/stats/robust.h), which is one that was measured. Cost O(values).

#ifndef LOCKSTEP_BASE_MEDIAN_H_
#define LOCKSTEP_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep {

// The element that `place` others precede in order. Reorders `values`, of which there are more.
template <typename T>
T ElementAt(size_t place, std::vector<T>* values) {
  const auto at = values->begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

// The larger one of the two in the middle of an even number. Reorders `values`; a default value when empty.
template <typename T>
T UpperMedian(std::vector<T>* values) {
  return values->empty() ? T() : ElementAt(values->size() / 2, values);
}

// The smaller one. Reorders `values`; a default value when empty.
template <typename T>
T LowerMedian(std::vector<T>* values) {
  return values->empty() ? T() : ElementAt((values->size() - 1) / 2, values);
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_MEDIAN_H_
