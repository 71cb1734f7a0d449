// Slow causes as verdicts with their evidence in causal order. Pure.

#ifndef LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_
#define LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_

#include "detector/localization/healing_gain.h"
#include "detector/localization/slow_cause.h"
#include "detector/trace/trace.h"
#include "detector/verdict.h"

namespace lockstep {

Verdict SlowRankVerdict(const Trace& trace, const SlowCause& cause, const HealingGain& gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_
