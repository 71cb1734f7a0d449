// What a diagnosis says of one job, as a person reads it: the state, then each verdict with who, what it costs, why and
// what to do. Pure.

#ifndef LOCKSTEP_CLI_RENDER_REPORT_TEXT_H_
#define LOCKSTEP_CLI_RENDER_REPORT_TEXT_H_

#include <string>

#include "detector/verdict/job_report.h"

namespace lockstep {

// Lines that end with a newline; of long lists of culprits and missing ranks the first are shown and the rest counted.
std::string ReportText(const JobReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_REPORT_TEXT_H_
