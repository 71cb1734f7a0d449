// What a job report got right and wrong about an episode whose truth is known.
//
// A cause that costs less than the threshold of accusation has to be left in peace or may be named; it counts neither
// way ("accusable" false), except that accusing anybody else is always counted. Pure functions and values;
// thread-compatible.

#ifndef LOCKSTEP_EVAL_SCORING_EPISODE_SCORE_H_
#define LOCKSTEP_EVAL_SCORING_EPISODE_SCORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/job_report.h"
#include "eval/baselines/baseline.h"
#include "sim/episode.h"

namespace lockstep {

// One true cause, and what became of it.
struct CauseScore {
  FaultKind kind = FaultKind::kComputeSlow;
  bool accusable = false;  // has culprits, and is a hang or costs enough
  bool top1 = false;       // the first suspect of the report is a culprit, exactly
  bool top1_host = false;  // or at least on a culprit's machine
  bool top3 = false;
  bool named = false;          // some verdict is about it, whatever its place
  int64_t culprits = 0;        // of the truth
  int64_t culprits_named = 0;  // of those, exactly, by any verdict
  bool exact_set = false;      // the verdict about it lists every culprit and nobody else
  std::string predicted = "";  // class of the verdict about it; "none" if there is no verdict
  bool class_right = false;    // predicted is the true class or as good
  double cost = 0;             // slowdown fraction, true, by itself
  double marginal_cost = 0;    // while the other causes are there
  double claimed_cost = 0;     // of the verdict about it, as marginal_cost
};

struct EpisodeScore {
  std::vector<CauseScore> causes;            // as in the truth
  std::vector<std::string> accused_wrongly;  // hosts, sorted, each once
  int64_t hosts_accused = 0;
  bool state_right = false;
};

EpisodeScore ScoreReport(const JobReport& report, const Truth& truth, double min_cost);

// Culprits of accusing verdicts, one after the other as the report ranks them. Verdicts of scope software count when
// they name a rank: mismatches and deadlocks do.
std::vector<Culprit> Suspects(const JobReport& report);

// What a ranking of ranks got right, for the first cause of the truth.
struct RankingScore {
  bool top1 = false;
  bool top1_host = false;
  bool top3 = false;
  double recall = 0;  // of as many suspects from the top as there are culprits
  int64_t accused = 0;
  int64_t accused_wrongly = 0;  // ranks on innocent hosts
};

RankingScore ScoreRanking(const Ranking& ranking, const Trace& trace, const Truth& truth);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SCORING_EPISODE_SCORE_H_
