// Samples of one series condensed to equal steps of time, for tables and curves.

#ifndef LOCKSTEP_CLI_SERIES_STEPS_H_
#define LOCKSTEP_CLI_SERIES_STEPS_H_

#include <cstdint>
#include <vector>

#include "proto/query.pb.h"

namespace lockstep {

// Pure value.
struct SeriesStep {
  int64_t wall_ns = 0;  // where the step begins
  double value = 0;
};

inline constexpr int64_t kMaxSeriesSteps = 10'000;

// The steps [from + i * step, ...) below `to` that have samples, each with the mean of its samples; steps without
// samples are left out, never invented. REQUIRES: 0 < step_ns and (to - from) / step <= kMaxSeriesSteps. Pure.
std::vector<SeriesStep> CondenseToSteps(const wire::Series& series, int64_t from_wall_ns, int64_t to_wall_ns,
                                        int64_t step_ns);

// A counter as its growth per second between neighbouring samples; a sample below its predecessor is a reset, from
// which counting starts anew. One sample less than `series`. Pure.
wire::Series ToRatePerSecond(const wire::Series& series);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_SERIES_STEPS_H_
