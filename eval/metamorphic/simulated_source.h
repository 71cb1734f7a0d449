// Episodes of the suites as sources of recordings. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_SIMULATED_SOURCE_H_
#define LOCKSTEP_EVAL_METAMORPHIC_SIMULATED_SOURCE_H_

#include <cstdint>
#include <vector>

#include "eval/metamorphic/metamorphic_run.h"
#include "eval/suites/suite.h"

namespace lockstep {

// Those of which a recording is judged in well under a minute.
std::vector<Suite> MetamorphicSuites();

// `suite` is kept by value; its tables are immutable.
RecordingSource SimulatedSource(const Suite& suite, uint64_t number);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_SIMULATED_SOURCE_H_
