// What a rank usually works on its own in some steps of a job.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_STEPS_USUAL_WORK_H_
#define LOCKSTEP_DETECTOR_STEPS_USUAL_WORK_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {

struct UsualWork {
  double seconds = 0;        // the middle of the known steps; 0 = none is
  double error_seconds = 0;  // its standard error, as far as noise tells
  size_t steps = 0;          // known ones
};

// Of known values, in seconds.
inline UsualWork UsualWorkOf(std::vector<double> known) {
  UsualWork work{.steps = known.size()};
  work.seconds = MedianInPlace(&known);
  work.error_seconds = ErrorOfMiddle(&known, work.seconds);
  return work;
}

// `row`: a row of an OwnProfile, NaN = unknown, as in unusual steps. Of the steps of [first, last).
inline UsualWork UsualWorkIn(absl::Span<const float> row, int32_t first, int32_t last) {
  std::vector<double> known;
  for (const float seconds : row.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first))) {
    if (!std::isnan(seconds)) known.push_back(static_cast<double>(seconds));
  }
  return UsualWorkOf(std::move(known));
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_USUAL_WORK_H_
