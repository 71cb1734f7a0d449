// Episodes of the second simulator, made, judged and scored one after the other or several at a time.
//
// The number of an episode is the seed of its world, so that `lockstep sim --kind KIND --world NUMBER` writes it. Kinds
// take turns by number. Thread-compatible.

#ifndef LOCKSTEP_EVAL_FLEETS_FLEET_RUN_H_
#define LOCKSTEP_EVAL_FLEETS_FLEET_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "eval/fleets/fleet_score.h"
#include "sim/second/planting.h"
#include "sim/second/truth.h"

namespace lockstep {

struct FleetOutcome {
  uint64_t number = 0;
  std::string kind;
  second::Truth truth;  // without the names of hosts
  FleetScore score;
  JobState state = JobState::kUnknown;
  std::string answer;  // state, and scope/class of each verdict
};

// Judges what is known of a job. The truth is for who plays what records do not hold. Called from several threads.
using FleetJudge = std::function<JobReport(JobEvidence evidence, const second::Truth& truth)>;

// What agents see beside the records: which processes are gone that died. Of a dead host there is no agent.
JobEvidence AsAgentsSee(JobEvidence evidence, const second::Truth& truth);

// The kind of an episode when all take turns.
const second::EpisodeKind& KindOfNumber(uint64_t number);

FleetOutcome RunFleetEpisode(uint64_t number, const second::EpisodeKind& kind, const FleetJudge& judge);

// Episodes first to first + count - 1, by number. `only` = null: kinds take turns. `progress` is told how many are
// done, on the caller's thread.
std::vector<FleetOutcome> RunFleets(uint64_t first, int32_t count, const second::EpisodeKind* only,
                                    const FleetJudge& judge, Executor& executor,
                                    const std::function<void(int32_t)>& progress);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_FLEETS_FLEET_RUN_H_
