// When the machines of a recorded history sampled, and which of them lived in another time.
//
// A single wild timestamp moves nothing: the ends of a host are medians over its series, the usual ends medians over
// the hosts. Only a recording that is read as a whole can tell this; live samples are put on the collector's clock
// (sample_clock.h). Pure. Cost: O(series).

#ifndef LOCKSTEP_DETECTOR_COUNTERS_HISTORY_PERIOD_H_
#define LOCKSTEP_DETECTOR_COUNTERS_HISTORY_PERIOD_H_

#include <cstdint>
#include <vector>

#include "detector/model/metric_table.h"

namespace lockstep {

// A host whose history begins and ends this much earlier or later than those of the others has another clock: NTP keeps
// machines within milliseconds, and a host without it is off by minutes.
inline constexpr int64_t kMaxClockOffsetMs = 5'000;
// A single sample may be this much outside of the time in which the hosts sampled: machines join and leave a job.
inline constexpr int64_t kFarOffMs = 3'600'000;

struct HistoryPeriod {
  int64_t first_ms = 0;
  int64_t last_ms = 0;
  std::vector<int32_t> misclocked_hosts;  // rising

  bool IsFarOff(int64_t time_ms) const { return time_ms < first_ms - kFarOffMs || time_ms > last_ms + kFarOffMs; }
  bool IsMisclocked(int32_t host) const;
};

HistoryPeriod PeriodOf(const MetricTable& table);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_HISTORY_PERIOD_H_
