// Slow causes as verdicts with their evidence in causal order. Pure.

#ifndef LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_
#define LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_

#include "detector/localization/slow_cause.h"
#include "detector/trace/trace.h"
#include "detector/verdict.h"

namespace lockstep {

// What the replay says about one cause. See step_replay.h.
struct HealingGain {
  double seconds_per_step = 0;  // the larger of healing this cause alone and healing it after all others
  double step_seconds = 0;      // replayed, with nothing healed
};

Verdict SlowRankVerdict(const Trace& trace, const SlowCause& cause, const HealingGain& gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LOCALIZATION_SLOW_RANK_VERDICT_H_
