// Episodes of a suite: simulate, ask every method, compare with the truth.
//
// Everything but the measured times is a function of suite, number and methods. Memory: the histories of the episodes
// that run at the same time, 16 bytes per sample (the largest hold 0.4 GB). Thread-safe.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_RUN_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/clock.h"
#include "eval/counters/alarm_score.h"
#include "eval/counters/counter_method.h"
#include "eval/counters/counter_suite.h"

namespace lockstep {

struct MethodOutcome {
  bool asked = false;  // baselines are not, on most episodes
  AlarmScore score;
  std::string answer;  // the first alarms, short
  int64_t detect_ns = 0;
};

struct CounterOutcome {
  uint64_t number = 0;
  std::string description;  // what was simulated
  std::string row;
  int32_t hosts = 0;
  double machine_days = 0;
  int64_t samples = 0;
  int64_t simulate_ns = 0;
  std::vector<MethodOutcome> methods;  // as given
};

CounterOutcome RunCounterEpisode(const CounterSuite& suite, uint64_t number, absl::Span<const CounterMethod> methods,
                                 const Clock& clock);

// All of a suite; `on_done` is never called from two threads at once.
std::vector<CounterOutcome> RunCounterSuite(const CounterSuite& suite, uint64_t first_number, int32_t episodes,
                                            int32_t threads, absl::Span<const CounterMethod> methods,
                                            const Clock& clock, const std::function<void(int32_t done)>& on_done);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_RUN_H_
