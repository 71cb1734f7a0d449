// The table of quality: what others have published, what is aimed at, and what the suites gave.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_REPORT_MEASURES_H_
#define LOCKSTEP_EVAL_REPORT_MEASURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "eval/report/suite_summary.h"

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

// One per row of the table whose suite is among `summaries` and has episodes to show.
std::vector<Measure> MeasuresOf(const std::vector<SuiteSummary>& summaries);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_MEASURES_H_
