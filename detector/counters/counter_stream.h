// Samples of all hosts as they arrive, put on ticks for the peer detector.
//
// One tick of a metric ends when most of its units have a new sample, or when that has taken twice as long as usual:
// units without one are unknown in it. Gauges as they are (the newest of a tick), counters by their rate; an interval
// in which a counter fell (wrap or reset) gives none. Values that are not finite, DCGM's sentinels and samples that are
// no newer than their predecessor are dropped; series of processes have no peers. Bounded by max_series; what is
// dropped or refused is counted. Times are the collector's. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "detector/counters/peer_detector.h"
#include "detector/input.h"

namespace lockstep {

struct CounterStreamOptions {
  int min_peer_hosts = 6;  // of a metric; below, nothing is said of it
  int max_series = 1'000'000;
};

class CounterStream {
 public:
  explicit CounterStream(const CounterStreamOptions& options);

  void Observe(int32_t host_slot, const MetricSample& sample, int64_t received_ns);

  // Ends the ticks that are due and returns what stands out, by host. `watermark_ns` must not decrease. Silence of
  // hosts is not among it: reports tell of that.
  std::vector<MachineCase> Evaluate(int64_t watermark_ns);

  const PeerDetector& detector() const { return detector_; }
  uint64_t not_usable() const { return not_usable_; }  // not finite, or a sentinel
  uint64_t resets() const { return resets_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Row {
    int64_t host_ns = 0;
    double value = 0;  // newest, as sampled
  };
  struct Track {
    int32_t watch = -1;
    bool is_rate = false;
    std::map<std::pair<int32_t, std::string>, size_t> row_of;  // host, device
    std::vector<Row> rows;
    std::vector<float> tick;  // NaN = no new sample
    size_t fresh = 0;
    size_t usual = 0;         // fresh units of the tick before
    int64_t ended_ns = 0;     // the tick before; 0 = none yet
    int64_t interval_ns = 0;  // between ticks, smoothed
  };

  bool Due(const Track& track, int64_t watermark_ns) const;
  void End(Track* track, int64_t watermark_ns);

  CounterStreamOptions options_;
  PeerDetector detector_;
  std::map<Metric, Track> tracks_;
  uint64_t not_usable_ = 0;
  uint64_t resets_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_STREAM_H_
