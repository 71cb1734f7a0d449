// What became of one episode that was played live. Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_OUTCOME_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_OUTCOME_H_

#include <cstdint>
#include <string>

#include "eval/live/live_player.h"
#include "eval/live/live_score.h"
#include "eval/live/parity.h"
#include "eval/scoring/episode_score.h"
#include "sim/episode.h"

namespace lockstep {

struct LiveOutcome {
  uint64_t number = 0;
  std::string description;  // what was simulated, and how it was delivered
  std::string answer;       // the conclusion of the last look, short
  int32_t gpus = 0;
  int32_t hosts = 0;
  Truth truth;
  LiveScore score;
  LivePlay play;
  int64_t simulate_ns = 0;
  int64_t play_cpu_ns = 0;  // of the player and the engine

  bool judged_as_file = false;  // what follows holds
  Parity parity;
  EpisodeScore file_score;
  std::string file_answer;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_OUTCOME_H_
