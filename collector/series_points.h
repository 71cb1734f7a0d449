// The samples of one slice as points of history.
//
// An agent sends several moments in one report; each point lies as long before the receive time as it lay before the
// report on the clock of its host, so that clocks of hosts never mix. Pure.

#ifndef LOCKSTEP_COLLECTOR_SERIES_POINTS_H_
#define LOCKSTEP_COLLECTOR_SERIES_POINTS_H_

#include <cstdint>
#include <vector>

#include "collector/store/history_store.h"
#include "proto/capture.pb.h"

namespace lockstep {

// A sample that claims to be older than this is placed here: reports are not that old.
inline constexpr int64_t kMaxSampleAgeNanos = 600'000'000'000;

// Appends to `points`. Samples that conversion leaves out (unknown metric, NaN) are left out here as well.
void AppendSeriesPoints(const wire::CaptureInput& input, std::vector<SeriesPoint>& points);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_SERIES_POINTS_H_
