// The answer of `lockstep diagnose -o json`: all keys, in the order of docs/cli.md, lists also when empty. Pure.

#ifndef LOCKSTEP_CLI_RENDER_REPORT_JSON_H_
#define LOCKSTEP_CLI_RENDER_REPORT_JSON_H_

#include "detector/verdict/job_report.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// One entry of "jobs". Numbers that are not finite become 0; -1 in "rank", "gpu" and steps is "none".
nlohmann::ordered_json ReportJson(const JobReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_REPORT_JSON_H_
