// Hosts that no file named are nobody's names: a report is to say nothing of them.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_CLI_INPUTS_STAND_INS_H_
#define LOCKSTEP_CLI_INPUTS_STAND_INS_H_

#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

// `trace` is what `report` was made from.
void ForgetStandIns(JobReport& report, const Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_STAND_INS_H_
