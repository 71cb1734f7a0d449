// One episode: simulate, ask the engine, ask the baselines, compare with the truth.
//
// Everything but the measured times is a function of suite, number and engine. Values; thread-compatible. RunEpisode is
// thread-safe if the engine is.

#ifndef LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_
#define LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/job_evidence.h"
#include "detector/job_report.h"
#include "eval/scoring/episode_score.h"
#include "eval/suites/suite.h"

namespace lockstep {

// What is evaluated; `Diagnose` in all but tests.
using Engine = std::function<JobReport(const JobEvidence& evidence)>;

struct RunOptions {
  double min_cost = 0.03;  // below it nobody has to be accused
  bool baselines = true;   // where the suite has them
};

// A recording is asked about for so many steps after the onset.
inline constexpr int64_t kMostStepsToVerdict = 12;

struct EpisodeOutcome {
  uint64_t number = 0;
  std::string description;  // what was simulated
  std::string answer;       // the verdicts, short
  int32_t gpus = 0;
  bool negative = false;
  JobState true_state = JobState::kUnknown;
  EpisodeScore score;
  std::vector<RankingScore> baselines;  // by AllBaselines(); empty when not run
  uint64_t records = 0;
  int64_t simulate_ns = 0;
  int64_t diagnose_ns = 0;  // of the whole recording

  // Procedure::kPrefixes: steps with the fault until the engine's first suspect was a culprit; 0 = not within
  // kMostStepsToVerdict. Wrong accusations on the way are in `score`.
  int64_t steps_to_verdict = 0;
  // Procedure::kHangCuts: seconds after the onset from which on the culprit set was exact; negative = never.
  double hang_seconds = -1;
};

EpisodeOutcome RunEpisode(const Suite& suite, uint64_t number, const Engine& engine, const RunOptions& options,
                          const Clock& clock);

// The same for a plan of one's own.
EpisodeOutcome RunPlan(const EpisodePlan& plan, const Suite& suite, const Engine& engine, const RunOptions& options,
                       const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_
