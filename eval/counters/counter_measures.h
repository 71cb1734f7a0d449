// The rows of the table of quality that counters answer: published, aimed at, measured. Pure functions.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_MEASURES_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_MEASURES_H_

#include <vector>

#include "eval/counters/counter_summary.h"
#include "eval/report/measure.h"

namespace lockstep {

// One per row whose suite is among `summaries` and has something to show, of the first method of each summary.
std::vector<Measure> CounterMeasuresOf(const std::vector<CounterSummary>& summaries);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_MEASURES_H_
