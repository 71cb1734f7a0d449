// Episodes of a live suite: simulate, play, compare with the truth and with what the engine says of the same recording
// as a file.
//
// Everything but the measured times is a function of suite, number and engines. Memory: the recordings of the episodes
// that run at the same time, about 80 bytes per record. Thread-safe if the engines are.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_RUN_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "eval/live/conclusion_timeline.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_outcome.h"
#include "eval/live/live_player.h"
#include "eval/live/live_suite.h"
#include "eval/suites/episode_run.h"

namespace lockstep {

struct LiveRun {
  LiveEngineFactory engine;
  Engine file_engine;  // empty = nothing is judged as a file
  CpuTimer cpu;
  double min_cost = 0.03;  // below it nobody has to be accused
};

// `timeline` may be nullptr. Reads times from `clock` to say how long it took.
LiveOutcome RunLivePlan(const LivePlan& plan, const LiveRun& run, const Clock& clock, ConclusionTimeline* timeline);

LiveOutcome RunLiveEpisode(const LiveSuite& suite, uint64_t number, const LiveRun& run, const Clock& clock);

// All of a suite; `on_done` is never called from two threads at once.
std::vector<LiveOutcome> RunLiveSuite(const LiveSuite& suite, uint64_t first_number, int32_t episodes, int32_t threads,
                                      const LiveRun& run, const Clock& clock,
                                      const std::function<void(int32_t done)>& on_done);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_RUN_H_
