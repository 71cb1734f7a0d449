// From a slow rank to a verdict with its evidence in causal order: own time, entry, victims, cost, and what the CPU
// time of the process says about the reason. Pure.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_VERDICT_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_VERDICT_H_

#include "detector/collectives/slow_rank.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

// `first_seen_ns` of the result is the estimated onset: the steps since then, counted back from `watermark_ns`.
Verdict BuildSlowVerdict(const Roster& roster, const SlowRank& slow, int64_t watermark_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_VERDICT_H_
