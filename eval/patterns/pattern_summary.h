// The outcomes of one suite of profiles as rates with their intervals, and the episodes that went wrong; and the rows
// of the table of quality that they answer. Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_PATTERNS_PATTERN_SUMMARY_H_
#define LOCKSTEP_EVAL_PATTERNS_PATTERN_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "eval/patterns/pattern_method.h"
#include "eval/patterns/pattern_suite.h"
#include "eval/report/failure_list.h"
#include "eval/report/figures.h"
#include "eval/report/measure.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

struct PatternCounts {
  Rate right;  // function, class and workers, and nothing else; of healthy jobs: silence
  Rate of_class;
  Rate workers;  // and the class
};

struct PatternMethodSummary {
  std::string name;
  std::string source;
  PatternCounts all;
  Rate innocents;  // episodes in which somebody was named who is not to blame
  Spread seconds;
  std::map<std::string, PatternCounts> rows;  // by class
};

struct PatternSummary {
  std::string name;
  std::string what;
  int64_t episodes = 0;
  std::vector<PatternMethodSummary> methods;  // as given; the first is the one under test
  FailureList failures;                       // of the first
};

PatternSummary SummarizePatterns(const PatternSuite& suite, absl::Span<const PatternMethod> methods,
                                 const std::vector<PatternOutcome>& outcomes);

// One per row whose suite is among `summaries`.
std::vector<Measure> PatternMeasuresOf(const std::vector<PatternSummary>& summaries);

nlohmann::ordered_json PatternSuiteJson(const PatternSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_PATTERNS_PATTERN_SUMMARY_H_
