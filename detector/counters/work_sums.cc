#include "detector/counters/work_sums.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace lockstep {

void WorkSums::Sum::Add(const Reading& reading) {
  all.value += reading.value;
  all.median += reading.median;
  if (ticks == 0 || reading.Above() > highest.Above()) highest = reading;
  if (ticks == 0 || reading.Above() < lowest.Above()) lowest = reading;
  ++ticks;
}

WorkSums::Reading WorkSums::Sum::Counting() const {
  if (ticks < kFewestToLeaveOut) return all;
  return {all.value - highest.value - lowest.value, all.median - highest.median - lowest.median};
}

bool WorkSums::Add(absl::Span<const float> values, double median, double tick_seconds) {
  if (std::isnan(median)) return false;
  sums_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    sums_[i].Add({values[i], static_cast<float>(median)});
  }
  median_ += median;
  ++ticks_;
  if (ticks_ * tick_seconds < kSeconds) return false;
  Finish();
  Restart();
  return true;
}

void WorkSums::Restart() {
  sums_.assign(sums_.size(), {});
  median_ = 0;
  ticks_ = 0;
}

void WorkSums::Finish() {
  levels_.assign(sums_.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Reading sum = sums_[i].Counting();
    if (sum.median <= 0 || sums_[i].ticks < kLeastKnown * ticks_) continue;
    levels_[i] = static_cast<float>(sum.value / sum.median * median_ / ticks_);
  }
}

}  // namespace lockstep
