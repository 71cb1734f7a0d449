// What every evaluation says as JSON, whatever it evaluates. Pure.

#ifndef LOCKSTEP_EVAL_REPORT_EVALUATION_JSON_H_
#define LOCKSTEP_EVAL_REPORT_EVALUATION_JSON_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "eval/report/failure_list.h"
#include "eval/report/measure.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// The whole of it: the rows of the table of quality, then the `suites`. `seeds`: "tune" or "report".
nlohmann::ordered_json EvaluationJson(absl::string_view seeds, const std::vector<Measure>& measures,
                                      const std::vector<nlohmann::ordered_json>& suites);

// Adds the keys "failures" and "failures_not_listed" to the object of a suite.
void AddFailures(const FailureList& failures, nlohmann::ordered_json& suite);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_EVALUATION_JSON_H_
