// A history of counters as an episode that agents can report: every device has a rank that runs and leaves no record of
// operations.
//
// Culprits of the truth are hosts, as Minder counts (arXiv 2411.01791), and every fault counts as dear enough. Pure;
// thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_COUNTER_EPISODE_H_
#define LOCKSTEP_EVAL_LIVE_COUNTER_EPISODE_H_

#include "eval/counters/counter_suite.h"
#include "sim/episode.h"

namespace lockstep {

Episode MakeCounterEpisode(const CounterPlan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_COUNTER_EPISODE_H_
