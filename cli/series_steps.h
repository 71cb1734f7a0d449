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

inline constexpr int64_t kMaxSeriesSteps = 10'000;  // that are asked for; a window may begin within one more

// Steps of equal time, [from + i * step, ...) below `to`. Pure value.
struct StepWindow {
  int64_t from_ns = 0;  // wall clock, as `to_ns`
  int64_t to_ns = 0;
  int64_t step_ns = 0;
};

// The steps that hold the time from `since_ns` before `now_ns` on. They begin at multiples of the step, so that a
// sample is in the same one whenever somebody asks. REQUIRES: 0 < step_ns, 0 <= since_ns <= now_ns. Pure.
StepWindow StepsUntil(int64_t now_ns, int64_t since_ns, int64_t step_ns);

// The steps that have samples, each with the mean of its samples; steps without samples are left out, never invented.
// REQUIRES: 0 < step_ns and (to - from) / step <= kMaxSeriesSteps + 1. Pure.
std::vector<SeriesStep> CondenseToSteps(const wire::Series& series, const StepWindow& window);

// A counter as its growth per second between neighbouring samples; a sample below its predecessor is a reset, from
// which counting starts anew. One sample less than `series`. Pure.
wire::Series ToRatePerSecond(const wire::Series& series);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_SERIES_STEPS_H_
