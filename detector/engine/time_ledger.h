// The ledger of a job's time: what a step takes, what it ought to take, and what the difference is owed to.
//
//   measured = reference + lines + unexplained        (seconds per step, the mean over all that count; always exact)
//
// Reference: the job's own past where there is one, usual steps before the first onset of a finding, or before the step
// since which steps take longer, without what was wrong by then already. Else what is measured without what all lines
// give back together: nothing but replays says what the job would take. Lines: what findings cost, each averaged over
// all steps, so that one of the second half counts for half. A sum that exceeds what was lost is scaled down to it:
// causes that hide behind one another cost less together than one by one. Usual steps count, and the few longer ones in
// which ranks wait for others (StepTable::waited) or transfers stand still: what was lost in these was lost. Hangs and
// pauses count nowhere, nor does who makes pauses longer.
//
// SlowForUnknownReason: steps take longer since some step, and the findings explain less than half of it: the job is
// slow, and nobody knows why. The change is the best split of the series into two levels, as in job_change.h. Where the
// job did not go over to another level, some of its steps may lie on one of their own, far above the others'; at equal
// intervals they are the program's. Or ranks wait for others in a few.
// Pure. Cost O(steps + verdicts).

#ifndef LOCKSTEP_DETECTOR_ENGINE_TIME_LEDGER_H_
#define LOCKSTEP_DETECTOR_ENGINE_TIME_LEDGER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/remedy.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Steps of another length since a step, all of them or some.
struct StepShift {
  int32_t first_step = 0;
  double before_seconds = 0;  // of the others
  double after_seconds = 0;
  double error_seconds = 0;  // standard error of what was lost
  double share = 1;          // of the steps that count since first_step

  bool in_some_steps() const { return share < 1; }
  bool Has(const StepTable& steps, int32_t step) const {
    const double middle = (before_seconds + after_seconds) / 2;
    return step >= first_step && (!in_some_steps() || steps.step_seconds[static_cast<size_t>(step)] > middle);
  }
  // Per step, the mean since first_step.
  double lost_seconds() const { return share * (after_seconds - before_seconds); }
  double mean_seconds() const { return before_seconds + lost_seconds(); }
};

// Longer ones, significantly, and by `min_gain` of what steps take then in the mean.
std::optional<StepShift> FindLongerSteps(const StepTable& steps, double min_gain);

// The few in which ranks wait for others. They accuse nobody: what happened once or twice is no level.
std::optional<StepShift> FindFewWaited(const StepTable& steps, double min_gain);

// A line of the ledger is owed to it: it costs a part of every step, or of some.
bool CostsSteps(const Verdict& verdict);

// Seconds per step that all lines give back when they are removed together.
using Together = absl::FunctionRef<double(const std::vector<LedgerLine>& lines)>;

// Its lines are of the verdicts that cost steps, in their order. `together` is asked where the job has no past and
// several lines.
TimeLedger BuildLedger(const StepTable& steps, const std::vector<Verdict>& verdicts,
                       const std::optional<StepShift>& shift, Together together);

// Costs of verdicts as the lines have them: together they are no more than the job lost.
void ShareCosts(const TimeLedger& ledger, std::vector<Verdict>* verdicts);

// Of costs that are shared: what removing each gives back while the others are there, as `remedies` say (remedies.h).
// The rest of a line is hidden.
void HideCosts(const TimeLedger& ledger, const std::vector<Remedy>& remedies, std::vector<Verdict>* verdicts);

// The findings leave so many seconds of the shift unexplained; 0 where that is not its main part, or less than
// `min_gain` of a step.
double UnexplainedSeconds(const StepShift& shift, const std::vector<Verdict>& verdicts, double min_gain);

// An abstention about these: amount, since when, on whom it shows, and what was looked for in vain. `min_gain`: share
// of the step time.
std::optional<Verdict> SlowForUnknownReason(const TraceAnalysis& analysis, const StepShift& shift,
                                            const std::vector<Verdict>& verdicts, double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_TIME_LEDGER_H_
