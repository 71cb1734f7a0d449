// What causes cost by the job's own past, where replays find nothing.
//
// A replay knows what operations wait for, and not all that hosts wait for: a host that issues its work late may hold
// back a job in ways that no record shows; so may a slow link, through ranks that left none. But where steps became
// longer, nothing that costs anything began with that, and what became slow in that very step is of few hosts, chance
// does not explain it. Then each of these costs what it works longer than its peers, or what its transfers take longer,
// and no more than the steps got longer by. Ranks that stand out against nothing but their own past (grown_alone.h) are
// found by the longer steps, and so no witness of them. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_PAST_COST_H_
#define LOCKSTEP_DETECTOR_ENGINE_PAST_COST_H_

#include <vector>

#include "detector/engine/time_ledger.h"
#include "detector/model/trace.h"
#include "detector/slow/counterfactual_gain.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/slow_transfers.h"

namespace lockstep {

// The cause, for all that is known of lost records.
bool BeganWith(const SlowCause& cause, const StepShift& shift);

// What exceeds less than a minor part of what a longer step takes longer has no part in it.
bool TakesPart(double excess_seconds, const StepShift& shift);

// `gains` of `causes`, and of `transfers`.
void PayFromPast(const Trace& trace, const StepShift& shift, const std::vector<SlowCause>& causes,
                 const std::vector<SlowTransfers>& transfers, double min_cost, CounterfactualGains* gains);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_PAST_COST_H_
