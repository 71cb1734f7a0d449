// Which unit changed since the job became slower, told by how much its peers changed meanwhile.
//
// A CUSUM has to find out whether something changed and when, on noise that it can only model. Once the job itself is
// slower both are known: something did, at that moment. Then a plain comparison says more (difference in differences):
// for every unit its mean distance to where it should be since then, less the same of the time before. How far such
// differences lie apart on the peers, by their median and median deviation, is the scale. Steps that are sampled at
// different moments, noise that remembers and a load that each follows in its own way are all in it, so that shifts
// count that are lost in single readings or below what a metric resolves.
//
// Whoever adds readings limits wild ones, and the highest and the lowest of a unit do not count, so that no single one
// makes a shift: what a machine only sampled in another moment of a step is in one reading, and comes back in the next.
//
// Cost: O(1) per reading, O(units) per tick while the job is slower. Memory: 20 bytes per unit. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_DEGRADATION_SUMS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_DEGRADATION_SUMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep {

// Of one unit; nats as in false_alarm_budget.h, positive shifts are up.
struct DegradationShift {
  double nats = 0;
  double shift = 0;  // as readings are given
};

class DegradationSums {
 public:
  // What was before is as long as what is looked for after it, so that both are known equally well; of slow metrics 32
  // readings, which are known to 18 % of their noise.
  static constexpr double kBeforeSeconds = 120;
  static constexpr double kBeforeReadings = 32;
  // As long as an alarm of a device has to last (PeerOptions::min_persistence_ms), and as the longest average of the
  // pace.
  static constexpr double kLeastSeconds = 12;
  static constexpr double kMostSeconds = 120;
  // Of a unit: the highest and the lowest do not count.
  static constexpr int kFewestReadings = 3;
  // A median deviation of fewer is no scale.
  static constexpr int kFewestUnits = 6;

  void AddUnit() { units_.emplace_back(); }

  // Since when the job is slower; 0 = it is not. A new moment begins new sums.
  void Date(int64_t slower_since_ms);

  // A reading: its distance to where the unit should be. Unknown ones are left out. Inline, since there are so many.
  void Add(size_t index, double distance, double tick_seconds) {
    Unit& unit = units_[index];
    if (since_ms_ == 0) {
      if (unit.readings_before < kMostReadings) ++unit.readings_before;
      const double weight =
          std::max(std::min(tick_seconds / kBeforeSeconds, 1 / kBeforeReadings), 1.0 / unit.readings_before);
      unit.before += static_cast<float>(weight * (distance - unit.before));
    } else if (unit.readings < kMostReadings) {
      const auto reading = static_cast<float>(distance);
      unit.sum += reading;
      unit.highest = unit.readings == 0 ? reading : std::max(unit.highest, reading);
      unit.lowest = unit.readings == 0 ? reading : std::min(unit.lowest, reading);
      most_readings_ = std::max<int>(most_readings_, ++unit.readings);
    }
  }

  // Ends a tick. `least`: what peers scatter by at least; `noise`: of a single reading in this phase of a step, where
  // readings are independent, else 0; all ticks since the job is slower count. `freedom`: of how many machines the
  // scale is known.
  void Conclude(double least, double noise, double tick_seconds, double freedom);

  int64_t since_ms() const { return since_ms_; }
  // True while a shift is looked for.
  bool IsFresh(int64_t now_ms) const {
    return since_ms_ != 0 && static_cast<double>(now_ms - since_ms_) <= 1000 * kMostSeconds;
  }
  // As of the newest Conclude.
  DegradationShift Of(size_t unit) const;

 private:
  static constexpr uint16_t kMostReadings = std::numeric_limits<uint16_t>::max();

  struct Unit {
    float before = 0;
    float sum = 0;
    float highest = 0;
    float lowest = 0;
    uint16_t readings = 0;
    uint16_t readings_before = 0;  // saturating
  };

  double MeanOf(const Unit& unit) const {
    return (static_cast<double>(unit.sum) - unit.highest - unit.lowest) / (unit.readings - 2) - unit.before;
  }
  bool IsKnown(const Unit& unit) const {
    return unit.readings >= kFewestReadings && 2 * unit.readings >= most_readings_;
  }

  int64_t since_ms_ = 0;
  int most_readings_ = 0;
  double noise_squares_ = 0;  // of ticks_ ticks since then
  int ticks_ = 0;
  double center_ = 0;
  double scale_ = 0;  // 0 = too little is known
  double freedom_ = 1;
  std::vector<Unit> units_;
  std::vector<float> scratch_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_DEGRADATION_SUMS_H_
