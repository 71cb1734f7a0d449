// Slow causes as verdicts with their evidence in causal order. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_SLOW_RANK_VERDICT_H_
#define LOCKSTEP_DETECTOR_SLOW_SLOW_RANK_VERDICT_H_

#include "detector/model/trace.h"
#include "detector/slow/counterfactual_gain.h"
#include "detector/slow/slow_cause.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

Verdict SlowRankVerdict(const Trace& trace, const SlowCause& cause, const CounterfactualGain& gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_SLOW_RANK_VERDICT_H_
