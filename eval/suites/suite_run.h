// All episodes of a suite, on several threads; the results in the order of their numbers, whichever thread made them.
//
// Memory: the episodes that run at the same time (a large suite runs one at a time), and one small outcome each.
// Thread-safe; `on_done` is called from any thread, never from two at once.

#ifndef LOCKSTEP_EVAL_SUITES_SUITE_RUN_H_
#define LOCKSTEP_EVAL_SUITES_SUITE_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"

namespace lockstep {

std::vector<EpisodeOutcome> RunSuite(const Suite& suite, uint64_t first_number, int32_t episodes, int32_t threads,
                                     const Engine& engine, const RunOptions& options, const Clock& clock,
                                     const std::function<void(int32_t done)>& on_done);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_SUITE_RUN_H_
