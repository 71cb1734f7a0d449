// The rows of the table of quality that localization answers. Pure functions.

#ifndef LOCKSTEP_EVAL_REPORT_MEASURES_H_
#define LOCKSTEP_EVAL_REPORT_MEASURES_H_

#include <vector>

#include "eval/report/measure.h"
#include "eval/report/suite_summary.h"

namespace lockstep {

// One per row of the table whose suite is among `summaries` and has episodes to show.
std::vector<Measure> MeasuresOf(const std::vector<SuiteSummary>& summaries);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_MEASURES_H_
