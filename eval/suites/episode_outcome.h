// What became of one episode. Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_SUITES_EPISODE_OUTCOME_H_
#define LOCKSTEP_EVAL_SUITES_EPISODE_OUTCOME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/verdict.h"
#include "eval/scoring/episode_score.h"

namespace lockstep {

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

  // Procedure::kPulls: of all answers of agents.
  uint64_t pulled_bytes = 0;
  // Procedure::kPrefixes: steps with the fault until the engine's first suspect was a culprit; 0 = not within
  // kMostStepsToVerdict. Wrong accusations on the way are in `score`.
  int64_t steps_to_verdict = 0;
  // Procedure::kHangCuts: seconds after the onset from which on the culprit set was exact; negative = never.
  double hang_seconds = -1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_EPISODE_OUTCOME_H_
