// A method that `lockstep eval patterns` compares with others: it looks at the profiles of a job and says which
// function is wrong, on whom, and why.
//
// Pure values; thread-compatible. `judge` is a pure function and may be called from several threads.

#ifndef LOCKSTEP_EVAL_PATTERNS_PATTERN_METHOD_H_
#define LOCKSTEP_EVAL_PATTERNS_PATTERN_METHOD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "detector/patterns/function_group.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

struct PatternAnswer {
  PatternClass pattern_class = PatternClass::kHostWork;
  bool of_all = false;
  std::vector<int32_t> ranks;  // empty for all
  int32_t function = -1;       // of the fleet: the one that is named first
};

struct PatternMethod {
  std::string name;
  std::string source;  // who published it, and what of it is ours
  std::function<std::vector<PatternAnswer>(const PatternFleet& fleet)> judge;
};

std::vector<PatternAnswer> AnswersOf(const PatternFleet& fleet, const PatternReport& report);

// This project's first, then textbook 3 sigma on durations, DBSCAN, and the paper's own Delta.
std::vector<PatternMethod> AllPatternMethods();

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_PATTERNS_PATTERN_METHOD_H_
