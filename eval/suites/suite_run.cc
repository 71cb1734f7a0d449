#include "eval/suites/suite_run.h"

#include <cstddef>

#include "eval/suites/ordered_work.h"

namespace lockstep {

std::vector<EpisodeOutcome> RunSuite(const Suite& suite, uint64_t first_number, int32_t episodes, int32_t threads,
                                     const Engine& engine, const RunOptions& options, const Clock& clock,
                                     const std::function<void(int32_t done)>& on_done) {
  return OrderedWork<EpisodeOutcome>::Run(
      episodes, suite.one_at_a_time ? 1 : threads,
      [&](size_t place) { return RunEpisode(suite, first_number + place, engine, options, clock); }, on_done);
}

}  // namespace lockstep
