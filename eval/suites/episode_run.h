// One episode: simulate, ask the engine, ask the baselines, compare with the truth.
//
// Everything but the measured times is a function of suite, number and engine. Values; thread-compatible. RunEpisode is
// thread-safe if the engine is.

#ifndef LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_
#define LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/suite.h"
#include "sim/episode.h"

namespace lockstep {

// What is evaluated; `Diagnose` in all but tests. Suites of pulls bring their own: what it asks for is evaluated there.
using Engine = std::function<JobReport(const JobEvidence& evidence)>;

struct RunOptions {
  double min_cost = 0.03;  // below it nobody has to be accused
  bool baselines = true;   // RunEpisode: where the suite has them
};

// The episode of a plan, cut where the plan says so.
Episode SimulatePlan(const EpisodePlan& plan);

EpisodeOutcome RunEpisode(const Suite& suite, uint64_t number, const Engine& engine, const RunOptions& options,
                          const Clock& clock);

// The same for a plan of one's own.
EpisodeOutcome RunPlan(const EpisodePlan& plan, const Suite& suite, const Engine& engine, const RunOptions& options,
                       const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_EPISODE_RUN_H_
