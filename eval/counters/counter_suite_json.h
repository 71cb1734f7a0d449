// One suite of `lockstep eval counters -o json`. docs/scoring.md says what counts.
//
// Measured times aside (keys simulate_seconds and detect_seconds) the same methods give the same bytes. Pure.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_JSON_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_JSON_H_

#include "eval/counters/counter_summary.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

nlohmann::ordered_json CounterSuiteJson(const CounterSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_JSON_H_
