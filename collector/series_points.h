// The samples of one slice as points of history.
//
// An agent sends several moments in one report, and keeps reports while no collector takes them. Each point lies as
// long before the receive time as it lay before the report on the clock of its host, and as the report waited there:
// clocks of hosts never mix, and what comes after an outage is in history when it was taken. Never later than the
// receive time. Pure.

#ifndef LOCKSTEP_COLLECTOR_SERIES_POINTS_H_
#define LOCKSTEP_COLLECTOR_SERIES_POINTS_H_

#include <cstdint>
#include <vector>

#include "collector/store/history_store.h"
#include "proto/capture.pb.h"

namespace lockstep {

// A sample that claims to lie further before its report than this is placed here: ticks are not that long.
inline constexpr int64_t kMaxSampleAgeNanos = 600'000'000'000;

// Appends to `points`. Samples that conversion leaves out (unknown metric, NaN) are left out here as well.
void AppendSeriesPoints(const wire::CaptureInput& input, std::vector<SeriesPoint>& points);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_SERIES_POINTS_H_
