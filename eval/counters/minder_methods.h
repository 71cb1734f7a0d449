// Minder and its published ablations as methods of the evaluation, with the model that ships.
//
// Their alarm_ms is the newest sample that an answer needed; a job that calls Minder every eight minutes hears of it
// four minutes later on average. Thread-safe.

#ifndef LOCKSTEP_EVAL_COUNTERS_MINDER_METHODS_H_
#define LOCKSTEP_EVAL_COUNTERS_MINDER_METHODS_H_

#include <vector>

#include "eval/counters/counter_method.h"

namespace lockstep {

// Minder first, then MD, RAW, CON, INT, without continuity, Manhattan, Chebyshev.
std::vector<CounterMethod> MinderMethods();

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_MINDER_METHODS_H_
