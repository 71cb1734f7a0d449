// What units did over some seconds, as a slow metric: sums in which neither steps nor the moments of sampling show.
//
// Within a step work goes up and down, and machines sample at different moments, so that single readings of two healthy
// machines may differ by more than a slow link costs. Over kSeconds that averages out. A unit counts with the readings
// that it has, measured by what its peers did in just those ticks: a missing one must not look like less work. The one
// that lies furthest above the peers and the one furthest below do not count, so that a single wild reading is nothing.
// The level of all is kept: whoever compares must see that the job does something else now, and be careful with what it
// knows.
//
// O(units) per tick. Memory: 32 bytes per unit. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_WORK_SUMS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_WORK_SUMS_H_

#include <vector>

#include "absl/types/span.h"

namespace lockstep {

class WorkSums {
 public:
  // Longer than most steps, and as long as the readings of slow metrics are apart.
  static constexpr double kSeconds = 16;
  static constexpr double kLeastKnown = 0.5;  // of the ticks; of a unit with fewer nothing is said
  // Readings of a unit: of fewer, two left out would be more than a third.
  static constexpr int kFewestToLeaveOut = 6;

  // One tick, a value per unit (NaN = unknown) and their median. True when a sum is complete, see levels().
  bool Add(absl::Span<const float> values, double median, double tick_seconds);

  // Drops the sum under way: what the job does has changed.
  void Restart();

  // Of the newest complete sum, per unit: what it did per tick, in the metric's unit. NaN = unknown.
  const std::vector<float>& levels() const { return levels_; }

 private:
  struct Reading {
    float value = 0;
    float median = 0;

    float Above() const { return value - median; }
  };
  struct Sum {
    Reading all;  // of the ticks in which the unit's value is known
    Reading highest;
    Reading lowest;
    int ticks = 0;

    void Add(const Reading& reading);
    Reading Counting() const;
  };

  void Finish();

  std::vector<Sum> sums_;
  double median_ = 0;
  int ticks_ = 0;
  std::vector<float> levels_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_WORK_SUMS_H_
