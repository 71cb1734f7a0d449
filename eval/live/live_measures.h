// The rows of the table of quality that the live path answers. Pure functions.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_MEASURES_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_MEASURES_H_

#include <vector>

#include "eval/live/live_summary.h"
#include "eval/report/measure.h"

namespace lockstep {

// One per row whose suite is among `summaries` and has episodes to show. Where the same is known of the recordings as
// files, it stands beside it.
std::vector<Measure> LiveMeasuresOf(const std::vector<LiveSummary>& summaries);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_MEASURES_H_
