// What the ranks of a host have in common in a step.
//
// Pure functions.

#ifndef LOCKSTEP_DETECTOR_SLOW_HOST_MIDDLE_H_
#define LOCKSTEP_DETECTOR_SLOW_HOST_MIDDLE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {

// The middle of a value of these ranks, by index. `value_of` and the answer: NaN = not known. Of half of them or fewer
// it would vary more than in other steps, and is not known.
inline float MiddleAmong(const std::vector<int32_t>& ranks, absl::FunctionRef<float(int32_t rank)> value_of) {
  std::vector<double> known;
  for (const int32_t rank : ranks) {
    const float value = value_of(rank);
    if (!std::isnan(value)) known.push_back(static_cast<double>(value));
  }
  if (2 * known.size() <= ranks.size()) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(MedianInPlace(&known));
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_HOST_MIDDLE_H_
