// The evaluation as one JSON object: `lockstep eval collectives -o json`. docs/quality.md explains the figures.
//
// Measured times aside (keys ending in _seconds) the same engine gives the same bytes. Pure.

#ifndef LOCKSTEP_EVAL_REPORT_REPORT_JSON_H_
#define LOCKSTEP_EVAL_REPORT_REPORT_JSON_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "eval/report/measures.h"
#include "eval/report/suite_summary.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// `seeds`: "tune" or "report".
nlohmann::ordered_json ReportJson(absl::string_view seeds, const std::vector<SuiteSummary>& summaries,
                                  const std::vector<Measure>& measures);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_REPORT_JSON_H_
