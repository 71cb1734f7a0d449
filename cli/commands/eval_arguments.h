// What was asked of `lockstep eval`, whatever is evaluated. Plain values; thread-compatible.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_ARGUMENTS_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_ARGUMENTS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lockstep {

struct EvalArguments {
  static constexpr uint64_t kNoEpisode = std::numeric_limits<uint64_t>::max();

  std::string suite;           // "" = all
  std::string seeds = "tune";  // or "report"
  uint32_t episodes = 0;       // per suite; 0 = as many as the suite has
  uint32_t skip = 0;           // leave out that many of each suite first
  uint32_t threads = 2;
  uint64_t episode = kNoEpisode;  // only this one, in full
  std::string save;               // live: write its recording there, as ops-csv; "" = nowhere
  bool quick = false;
  bool no_baselines = false;
  bool live = false;  // fleets: played to the collector's engine
  // Of metamorphic alone.
  std::vector<std::string> paths;  // recordings; none = simulated ones
  std::string relation;            // "" = all
  uint32_t trials = 1;             // of each relation that draws chance
  uint64_t trial = kNoEpisode;     // only this one
  std::string keep;                // directory for what was judged; "" = keep nothing
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_ARGUMENTS_H_
