// Every method that `lockstep eval counters` compares. Thread-safe.

#ifndef LOCKSTEP_EVAL_COUNTERS_ALL_COUNTER_METHODS_H_
#define LOCKSTEP_EVAL_COUNTERS_ALL_COUNTER_METHODS_H_

#include <vector>

#include "eval/counters/counter_method.h"

namespace lockstep {

// The detector under test first, then the baselines, in a fixed order.
std::vector<CounterMethod> AllCounterMethods();

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_ALL_COUNTER_METHODS_H_
