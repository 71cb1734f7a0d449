// Those few of equal workers on whom a function takes clearly longer: the rule of Delta, and what makes it hold for any
// number of workers and functions (pattern_comparison.h).
//
// Pure; the slow reference is in the test.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_OUTLYING_WORKERS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_OUTLYING_WORKERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Of more than this share of the peers nobody is an outlier: they are two kinds.
inline constexpr double kMostOutlyingShare = 0.34;

struct OutlyingLimits {
  double least_beta = 0.01;
  double least_excess = 0.03;
  double mads = 5;
  double least_relative_scatter = 0.1;  // of beta between equal workers, by nature
  double tests = 1;                     // workers times functions that are judged together: chance has so many tries
};

struct OutlyingWorkers {
  std::vector<uint32_t> places;  // in the spans
  double beta = 0;               // median of theirs
  double usual_beta = 0;         // median of all
  double distance = 0;           // the least Delta of theirs
  double threshold = 0;          // of Delta
};

// The distance of each value from the median in units of the values' own scatter, which is at least `least_scatter`;
// none counts for more than kMostDistance. NaN = not known: distance 0.
inline constexpr float kMostDistance = 20;
std::vector<float> ScaledDistances(absl::Span<const float> values, float least_scatter);

// `beta` and `other_distance` (of mu and sigma together) by worker. No places: nobody is.
OutlyingWorkers FindOutlyingWorkers(absl::Span<const float> beta, absl::Span<const float> other_distance,
                                    const OutlyingLimits& limits);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_OUTLYING_WORKERS_H_
