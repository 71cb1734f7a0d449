#include "detector/counters/degradation_sums.h"

#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "detector/stats/false_alarm_budget.h"
#include "detector/stats/median.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {}  // namespace

void DegradationSums::Date(int64_t slower_since_ms) {
  if (slower_since_ms == since_ms_) return;
  since_ms_ = slower_since_ms;
  most_readings_ = 0;
  noise_squares_ = 0;
  ticks_ = 0;
  scale_ = 0;
  for (Unit& unit : units_) {
    unit.sum = 0;
    unit.readings = 0;
  }
}

void DegradationSums::Conclude(double least, double noise, double tick_seconds, double freedom) {
  scale_ = 0;
  if (since_ms_ == 0) return;
  noise_squares_ += noise * noise;
  ++ticks_;
  const double seconds = most_readings_ * tick_seconds;
  if (most_readings_ < kFewestReadings || seconds < kLeastSeconds || seconds > kMostSeconds) return;
  scratch_.clear();
  for (const Unit& unit : units_) {
    if (IsKnown(unit)) scratch_.push_back(static_cast<float>(MeanOf(unit)));
  }
  if (scratch_.size() < kFewestUnits) return;
  center_ = MedianOf(absl::MakeSpan(scratch_));
  for (float& mean : scratch_) mean = std::abs(mean - static_cast<float>(center_));
  // Where few units have most of the noise, as in counts of rare errors, the median deviation knows nothing of it.
  // About the error of a mean without its extremes.
  const double independent = std::sqrt(noise_squares_ / ticks_ / (most_readings_ - 1.0));
  scale_ = std::max({kMadToSigma * MedianOf(absl::MakeSpan(scratch_)), least, independent});
  freedom_ = freedom;
}

DegradationShift DegradationSums::Of(size_t index) const {
  const Unit& unit = units_[index];
  if (scale_ == 0 || !IsKnown(unit)) return {};
  const double shift = MeanOf(unit) - center_;
  const double score = NormalOf(shift / scale_, freedom_);
  return {score * score / 2, shift};
}

}  // namespace lockstep
