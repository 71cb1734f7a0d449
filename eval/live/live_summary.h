// The outcomes of one live suite as rates, delays and costs, each with its interval, and the episodes that went wrong.
//
// A cause that was never named counts with all the time that was left, so that silence is the slowest answer. Pure
// functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_SUMMARY_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "eval/live/live_outcome.h"
#include "eval/live/live_suite.h"
#include "eval/report/failure_list.h"
#include "eval/report/figures.h"

namespace lockstep {

// Issue targets: a slow device is named within so many steps and seconds, in half and in 95 % of the cases.
inline constexpr double kSoonLiveSteps = 5;
inline constexpr double kMedianLiveSeconds = 5;
inline constexpr double kP95LiveSeconds = 12;
// And the exact set of a hang within this.
inline constexpr double kHangLiveSeconds = 10;

// Innocents over the time that jobs ran.
struct InnocentRate {
  int64_t accused = 0;          // hosts, each once per episode
  int64_t episodes = 0;         // in which anybody was accused wrongly
  int64_t false_incidents = 0;  // of any scope, also those that blame no machine
  double job_hours = 0;

  double per_job_hour() const { return job_hours > 0 ? static_cast<double>(accused) / job_hours : 0; }
  double upper_per_job_hour() const;  // one-sided 95 % bound, of accusing episodes: those of one are not independent
};

struct LiveKindRow {
  int64_t episodes = 0;
  int64_t too_cheap = 0;  // culprits that cost less than the threshold: in none of the rates
  Rate top1;
  Rate named;
  Rate class_right;
  Spread named_seconds;
  int64_t episodes_accusing_innocents = 0;
  std::map<std::string, int64_t> predicted;  // class at the last look -> episodes
};

struct LiveSummary {
  std::string name;
  std::string what;
  int64_t episodes = 0;
  int64_t too_cheap = 0;
  Rate top1;             // at the last look
  Rate named;            // at any look from the onset on
  Rate class_right;      // at the last look
  Rate state_right;      // at the last look
  Rate within_median;    // slow causes: named within kSoonLiveSteps and kMedianLiveSeconds
  Rate within_p95;       // and within kSoonLiveSteps and kP95LiveSeconds
  Rate hang_in_time;     // hangs: the exact set from kHangLiveSeconds after the onset on, at the latest
  Rate all_named;        // episodes all of whose causes are dear enough: every one named
  Rate accused_rightly;  // hosts that were accused at any look
  Mean recall;           // of culprits at the last look, per episode
  Mean cost_error;       // |claimed - true| slowdown fraction of named slow causes
  Spread named_seconds;  // from the onset of slow causes
  Spread named_steps;
  Spread exact_seconds;  // from the onset of hangs
  InnocentRate innocents;
  Mean unknown_share;     // of looks with records, per episode
  Mean pulled_bytes;      // per machine and second
  Mean report_bytes;      // per machine and second
  Spread cores_per_1000;  // CPU cores that the engine takes for 1,000 machines
  Spread play_seconds;    // CPU of an episode without the engine
  Spread simulate_seconds;
  Spread operations;
  Rate agrees_with_file;
  Rate file_top1;                            // of the same causes, judged as a file
  std::map<std::string, LiveKindRow> kinds;  // by name of the fault; "healthy" without one
  FailureList failures;
  FailureList disagreements;  // with the file
};

LiveSummary SummarizeLive(const LiveSuite& suite, const std::vector<LiveOutcome>& outcomes);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_SUMMARY_H_
