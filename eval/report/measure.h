// One row of the table of quality: what others have published, what is aimed at, and what the suites gave.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_REPORT_MEASURE_H_
#define LOCKSTEP_EVAL_REPORT_MEASURE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "eval/report/figures.h"

namespace lockstep {

struct Measure {
  std::string name;
  std::string published;  // the best, and whose
  std::string target;
  std::string measured;  // as text, with its interval
  double value = 0;
  double low = 0;  // 95 %; both equal to the value where it is a count or a largest value
  double high = 0;
  int64_t count = 0;          // episodes behind it
  std::string best_baseline;  // of those run in the same suite; empty = none
  bool met = false;           // the value, not its interval, meets the target
};

// What a suite is to reach.
struct Goal {
  absl::string_view suite;
  absl::string_view name;
  absl::string_view published;
  absl::string_view target;  // for people
  double bar = 0;            // the same for us
  bool at_least = true;      // met when the value is at least the bar; else at most

  bool IsMetBy(double value) const { return at_least ? value >= bar : value <= bar; }
};

// A rate with its 95 % interval, in percent: "97.1 % (95.0-98.3 %), 340 of 350". Without a name or a goal.
Measure MeasuredRate(const Rate& rate);

// `measured` held against `goal`.
Measure Judged(const Goal& goal, Measure measured, std::string best_baseline);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_MEASURE_H_
