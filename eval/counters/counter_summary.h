// The outcomes of one suite of counters as counts, rates with their intervals, and the episodes that went wrong.
//
// Precision, recall and F1 are of machines over all episodes together. A delay counts from onset to alarm; a fault that
// was never found counts with all of its length, so that silence is the slowest answer. Pure functions and values;
// thread-compatible.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_SUMMARY_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "eval/counters/counter_method.h"
#include "eval/counters/counter_run.h"
#include "eval/counters/counter_suite.h"
#include "eval/report/failure_list.h"
#include "eval/report/figures.h"
#include "eval/scoring/confidence_interval.h"

namespace lockstep {

// Right and wrong alarms of several episodes.
struct AlarmCounts {
  int64_t episodes = 0;
  Rate recall;     // of the faults
  Rate precision;  // of the machines that were named
  Spread delay_seconds;

  double f1() const;  // 0 without any fault or alarm
};

// False accusations over the time that machines ran without being to blame.
struct AccusationRate {
  int64_t accusations = 0;
  double machine_days = 0;

  double per_10000_days() const;
  // One-sided 95 % bound of a Poisson count (Wilson and Hilferty's approximation): about 3 divided by the days when
  // nobody was accused.
  double upper_per_10000_days() const;
};

struct CounterMethodSummary {
  std::string name;
  std::string source;
  AlarmCounts all;
  Interval f1;  // bootstrap over episodes
  AccusationRate accusations;
  Spread detect_seconds;
  std::map<std::string, AlarmCounts> rows;  // by kind of fault or of what is none
  std::map<int32_t, AlarmCounts> sizes;     // by the largest of kSizeRows that is not above the number of hosts
};

inline constexpr int32_t kSizeRows[] = {1, 4, 16, 64, 256, 1024};

struct CounterSummary {
  std::string name;
  std::string what;
  int64_t episodes = 0;
  Spread simulate_seconds;
  Spread samples;
  std::vector<CounterMethodSummary> methods;  // as given; the first is the one under test
  FailureList failures;                       // of the first
};

CounterSummary SummarizeCounters(const CounterSuite& suite, absl::Span<const CounterMethod> methods,
                                 const std::vector<CounterOutcome>& outcomes);

// The row of a size.
int32_t SizeRowOf(int32_t hosts);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_SUMMARY_H_
