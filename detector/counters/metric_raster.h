// Samples of one metric of all machines, put on ticks as they arrive.
//
// The interval and the phase of each series are learnt from its first samples, which are held back until then. A tick
// is over as soon as every unit that is expected has a value in it, or when the moment at which the last of them
// samples has passed by kJitterMs: nothing that comes later counts in it. Expected is who had a value in one of the
// last kExpectedTicks ticks. A unit whose clock drifts is followed; it loses a tick when it is half of one behind.
// Gauges are averaged over a tick; counters become rates per second over the time since the sample before, and an
// interval in which a counter fell (wrap or reset) gives no rate: nothing is guessed.
//
// Cost: O(1) per sample, O(units) per tick. Memory: 100 bytes per unit and 5 bytes per unit and open tick, of which
// there are at most kMostOpenTicks. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_METRIC_RASTER_H_
#define LOCKSTEP_DETECTOR_COUNTERS_METRIC_RASTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "detector/model/sample_losses.h"

namespace lockstep {

class MetricRaster {
 public:
  // Two intervals. Where 2 % of the samples miss, 4 % of the series show too long a mean of them, and the median series
  // shows the right one.
  static constexpr size_t kWarmSamples = 3;
  // A series that has so many waits for the others no longer.
  static constexpr size_t kMostWarmSamples = 16;
  // One missing sample in 50 leaves no unit unexpected by chance (1e-14), and a silent one is waited for briefly.
  static constexpr int64_t kExpectedTicks = 8;
  // Of one series; machines that sample at another moment than others have another phase. Chosen by hand: ten times
  // what a timer of a busy host is late by. Of metrics faster than once a second a quarter of their interval.
  static constexpr int64_t kJitterMs = 250;
  // Bound of memory.
  static constexpr int64_t kMostOpenTicks = 64;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  explicit MetricRaster(bool is_rate) : is_rate_(is_rate) {}

  // Where tick 0 lies, of all metrics of a job. Before the first sample.
  void SetZero(int64_t zero_ms) { zero_ms_ = zero_ms; }

  // The number of the unit among rows in order of arrival.
  int32_t AddRow(int32_t host, const std::string& device);

  // A finite value. What is no newer than its predecessor is dropped and counted.
  void Observe(int32_t row, int64_t time_ms, double value, SampleLosses* losses);

  // True from when the interval is known; then ticks can be taken.
  bool started() const { return tick_ms_ > 0; }
  int64_t tick_ms() const { return tick_ms_; }

  // One value per unit of a tick. Units are numbered by host and device when the raster starts, later ones as they
  // come.
  struct Unit {
    int32_t host = -1;
    std::string device;
  };
  const std::vector<Unit>& units() const { return units_; }

  // Whether a tick that has not been taken holds a value.
  bool HasOpenTick() const { return !open_.empty(); }

  // When all of the next tick is known, if no sample with an earlier time comes any more; kNever = there is none.
  int64_t DueMs() const;
  // Takes the next tick: NaN = no value. Only after DueMs was not kNever.
  std::vector<float> TakeTick();

 private:
  struct Row {
    int32_t host = -1;
    std::string device;
    int32_t unit = -1;
    bool has_sample = false;
    bool expected = false;
    uint8_t phases = 0;                                    // samples that the phase is the mean of, up to kPhaseSamples
    int64_t time_ms = 0;                                   // of the newest sample
    double value = 0;                                      // of the newest sample, as sampled
    double phase_ms = 0;                                   // how far its samples lie behind the beginnings of ticks
    int64_t newest = std::numeric_limits<int64_t>::min();  // tick of the newest value
    std::vector<int64_t> warm_ms;                          // all samples, until the raster starts
    std::vector<std::pair<int64_t, float>> warm;           // and what they are worth
  };
  struct Tick {
    std::vector<float> values;
    std::vector<uint8_t> counts;
    int64_t known_ms = std::numeric_limits<int64_t>::min();
  };

  bool IsReady() const;
  void Start(SampleLosses* losses);
  void Place(Row* row, int64_t time_ms, float value, SampleLosses* losses);
  void FollowPhase(Row* row, double off_ms) const;
  void Expect();

  bool is_rate_;
  int64_t zero_ms_ = 0;
  int64_t tick_ms_ = 0;
  std::vector<Row> rows_;
  std::vector<Unit> units_;
  size_t ready_rows_ = 0;                                   // with kWarmSamples
  bool overdue_ = false;                                    // one has kMostWarmSamples
  std::deque<Tick> open_;                                   // from next_ on
  int64_t next_ = 0;                                        // tick
  int64_t known_ms_ = std::numeric_limits<int64_t>::min();  // of what was taken
  int64_t expected_ = 0;                                    // units, of the next tick
  int64_t arrived_ = 0;                                     // of them
  double latest_phase_ms_ = 0;                              // of them
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_METRIC_RASTER_H_
