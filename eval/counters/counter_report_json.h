// The evaluation of counters as one JSON object: `lockstep eval counters -o json`. docs/quality.md explains the
// figures.
//
// Measured times aside (keys simulate_seconds and detect_seconds) the same methods give the same bytes. Pure.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_REPORT_JSON_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_REPORT_JSON_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "eval/counters/counter_summary.h"
#include "eval/report/measures.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// `seeds`: "tune" or "report".
nlohmann::ordered_json CounterReportJson(absl::string_view seeds, const std::vector<CounterSummary>& summaries,
                                         const std::vector<Measure>& measures);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_REPORT_JSON_H_
