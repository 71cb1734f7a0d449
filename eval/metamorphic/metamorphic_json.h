// What metamorphic relations found, as JSON and as a row of the table of quality. Pure.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_JSON_H_
#define LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_JSON_H_

#include <vector>

#include "eval/metamorphic/metamorphic_run.h"
#include "eval/report/measure.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// One source, in the place of a suite.
nlohmann::ordered_json MetamorphicJson(const SourceOutcome& outcome);

// The contradictions of all of them; there ought to be none.
Measure MetamorphicMeasure(const std::vector<SourceOutcome>& outcomes);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_JSON_H_
