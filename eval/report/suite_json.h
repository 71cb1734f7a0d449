// One suite of `lockstep eval collectives -o json`. docs/scoring.md says what counts.
//
// Measured times aside (keys ending in _seconds) the same engine gives the same bytes. Pure.

#ifndef LOCKSTEP_EVAL_REPORT_SUITE_JSON_H_
#define LOCKSTEP_EVAL_REPORT_SUITE_JSON_H_

#include "eval/report/suite_summary.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

nlohmann::ordered_json SuiteJson(const SuiteSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_SUITE_JSON_H_
