// What the step time says that the findings of a look have to add up to.
//
// Builds the ledger (time_ledger.h) and settles by it what findings cost: what would give nothing back is not accused
// (without_effect.h), the others share what was lost, and what hides behind others costs what it gives back alone
// (remedies.h). Steps that are longer without a cause are a finding as well. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_FINDINGS_LEDGER_H_
#define LOCKSTEP_DETECTOR_ENGINE_FINDINGS_LEDGER_H_

#include <optional>

#include "detector/engine/remedies.h"
#include "detector/engine/time_ledger.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

// Of `report`, whose state is that of a job without findings, if that is known: its verdicts, ledger and state, and the
// remedies, if these are wanted.
void AddLedger(const TraceAnalysis& analysis, const FoundSlowness& slowness, const std::optional<StepShift>& shift,
               const CostLimit& limit, bool with_remedies, JobReport* report);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_FINDINGS_LEDGER_H_
