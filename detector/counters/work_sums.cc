#include "detector/counters/work_sums.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace lockstep {
bool WorkSums::Add(absl::Span<const float> values, double median, double tick_seconds) {
  if (std::isnan(median)) return false;
  sums_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    sums_[i].value += values[i];
    sums_[i].median += static_cast<float>(median);
    ++sums_[i].ticks;
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
    const Sum& sum = sums_[i];
    if (sum.median <= 0 || sum.ticks < kLeastKnown * ticks_) continue;
    levels_[i] = static_cast<float>(sum.value / sum.median * median_ / ticks_);
  }
}

}  // namespace lockstep
