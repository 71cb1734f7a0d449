// A line of the ledger of a job's time: how a finding is called there, and how one that no look at operations has
// made comes in. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_LEDGER_LINE_H_
#define LOCKSTEP_DETECTOR_VERDICT_LEDGER_LINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// "compute_slow rank 3 node-1": the class, and whom the finding names first; `first` = null: nobody.
std::string FindingName(absl::string_view verdict_class, const Culprit* first);
std::string FindingName(const Verdict& verdict);

// Gives `finding` what the ledger leaves unexplained, up to `share` of what a step takes: all together stays what was
// measured. Where nothing is unexplained, nothing happens, since others have said already where the time goes.
void Explain(const std::string& finding, double share, TimeLedger& ledger);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_LEDGER_LINE_H_
