// Samples of agents, put on the collector's clock and given to the driver as they come.
//
// Bounded by max_series; what is dropped or refused is counted. Deterministic. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/counters/counter_driver.h"
#include "detector/counters/sample_clock.h"
#include "detector/hardware/event_judge.h"
#include "detector/model/input.h"

namespace lockstep {

class CounterStream {
 public:
  explicit CounterStream(int32_t max_series) : driver_({.max_units = max_series}) {}

  // The samples of one report of a host. `compared`: the hosts work on one job, so that what they do can be compared;
  // else only rules look at them.
  void Observe(int32_t host_slot, const HostReport& report, bool compared);

  // See CounterDriver: by host slot.
  void SetDuties(absl::Span<const int32_t> duty_of_host) { driver_.SetDuties(duty_of_host); }

  // What rules say of error counters and ceilings.
  std::vector<HardwareFinding> Findings(int64_t watermark_ns) const;

  const CounterDriver& driver() const { return driver_; }
  // Samples that said nothing: not finite, sentinels, late, out of order, or beyond the limits.
  uint64_t discarded() const;

 private:
  CounterDriver driver_;
  SampleClock clock_;
  std::map<std::tuple<int32_t, Metric, std::string, bool>, int32_t> series_;  // by host, metric, device and `compared`
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_
