// A suite of `lockstep eval patterns`: many jobs' profiles drawn by one recipe, judged by several methods.
//
// An episode is known by its suite and its number, which give the seed of everything in it; numbers are for tuning or
// for reporting as in eval/suites/suite.h. Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_PATTERNS_PATTERN_SUITE_H_
#define LOCKSTEP_EVAL_PATTERNS_PATTERN_SUITE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "eval/patterns/pattern_method.h"
#include "sim/patterns/pattern_job.h"

namespace lockstep {

struct PatternSuite {
  absl::string_view name;
  absl::string_view what;  // one line
  int32_t episodes;
  int32_t quick_episodes;
  int32_t baseline_every;  // the other methods run on every so many-th episode
  bool has_faults;
};

absl::Span<const PatternSuite> AllPatternSuites();

// What a method said about one job, held against the truth.
struct PatternScore {
  bool asked = false;
  bool class_right = false;      // some answer has the class
  bool workers_right = false;    // some answer of the class names exactly the workers
  bool right = false;            // and the function, and there is no other answer; of healthy jobs: silence
  int64_t innocent_answers = 0;  // those that name somebody who is not to blame, or all
  std::string answer;
  double seconds = 0;
};

struct PatternOutcome {
  uint64_t number = 0;
  std::string description;
  std::string row;  // of the table by class
  std::vector<PatternScore> methods;
};

PatternJobSpec PatternPlanOf(const PatternSuite& suite, uint64_t number);

PatternScore ScorePatterns(const PatternJobSpec& spec, const PatternFleet& fleet,
                           const std::vector<PatternAnswer>& answers);

PatternOutcome RunPatternEpisode(const PatternSuite& suite, uint64_t number, absl::Span<const PatternMethod> methods,
                                 const Clock& clock);

std::vector<PatternOutcome> RunPatternSuite(const PatternSuite& suite, uint64_t first_number, int32_t episodes,
                                            int32_t threads, absl::Span<const PatternMethod> methods,
                                            const Clock& clock, const std::function<void(int32_t done)>& on_done);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_PATTERNS_PATTERN_SUITE_H_
