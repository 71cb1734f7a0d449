// The outcomes of one suite as counts, rates with their intervals, and the episodes that went wrong.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_REPORT_SUITE_SUMMARY_H_
#define LOCKSTEP_EVAL_REPORT_SUITE_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "eval/report/failure_list.h"
#include "eval/report/figures.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/suite.h"

namespace lockstep {

struct KindRow {
  int64_t episodes = 0;
  int64_t too_cheap = 0;  // culprits that cost less than the threshold: in none of the rates
  Rate top1;
  Rate top3;
  Rate class_right;
  Rate exact_set;
  Rate state_right;
  int64_t episodes_accusing_innocents = 0;
  std::map<std::string, int64_t> predicted;  // class -> episodes: a row of the confusion matrix
};

struct BaselineRow {
  std::string name;
  bool accuses = false;
  Rate top1;
  Rate top1_host;
  Rate top3;
  Mean recall;             // of as many suspects as there are culprits
  Rate accuses_innocents;  // episodes, of all; only where it has a threshold
};

struct SuiteSummary {
  std::string name;
  std::string what;
  int64_t episodes = 0;
  int64_t too_cheap = 0;
  Rate top1;
  Rate top1_host;
  Rate top3;
  Rate class_right;
  Rate exact_set;
  Rate state_right;
  Rate all_named;          // episodes whose causes are all dear enough: every one of them named
  Rate accuses_innocents;  // episodes in which a host without blame was accused
  Mean recall;             // of culprits, per episode
  Mean macro_class;        // class accuracy, every row of the table of 24 classes weighing the same
  Mean cost_error;         // |claimed - true| slowdown fraction of named causes that are no hangs
  Rate soon_enough;        // prefixes: within 5 steps; hangs: within 10 s
  Rate exact_when_looked;  // hangs: the exact set at the last look; `exact_set` is of files that say no time
  Spread steps_to_verdict;
  Spread hang_seconds;
  Spread diagnose_seconds;
  Spread simulate_seconds;
  Spread records;
  Spread pulled_bytes;                   // of suites of pulls
  std::map<std::string, KindRow> kinds;  // by name of the fault; "healthy" without one
  std::vector<BaselineRow> baselines;
  FailureList failures;
};

// Within this many steps, or seconds after the onset of a hang, a verdict is soon enough.
inline constexpr int64_t kSoonSteps = 5;
inline constexpr double kSoonHangSeconds = 10;

SuiteSummary Summarize(const Suite& suite, const std::vector<EpisodeOutcome>& outcomes);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_SUITE_SUMMARY_H_
