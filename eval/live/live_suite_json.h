// One suite of `lockstep eval live -o json`. docs/scoring.md says what counts.
//
// Measured times aside (simulate_seconds, play_cpu_seconds, engine_cores_per_1000_machines) the same engine gives the
// same bytes. Pure.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_SUITE_JSON_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_SUITE_JSON_H_

#include "eval/live/live_summary.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

nlohmann::ordered_json LiveSuiteJson(const LiveSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_SUITE_JSON_H_
