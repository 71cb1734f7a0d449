#include "detector/counters/job_activity.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kBusy = 0.9;  // utilisation

void Hold(bool condition, int64_t time_ms, int64_t* since_ms) {
  if (!condition) {
    *since_ms = 0;
  } else if (*since_ms == 0) {
    *since_ms = time_ms;
  }
}

bool Lasts(int64_t since_ms, int64_t now_ms, int64_t least_ms) {
  return since_ms != 0 && now_ms - since_ms >= least_ms;
}

}  // namespace

void JobActivity::Observe(Metric metric, double median, int64_t time_ms, double tick_seconds) {
  if (std::isnan(median) || tick_seconds > kLongestTickSeconds) return;
  if (metric == Metric::kGpuUtilizationRatio) {
    utilisation_ = median;
    return;
  }
  Activity& activity = series_[metric];
  activity.now = median;
  if (activity.seconds == 0) activity.usual = activity.recent = median;
  activity.seconds += tick_seconds;
  Conclude(time_ms);
  // A job that stands is not a slower one, and a pause of it no news about its usual pace.
  if (standing_since_ms_ != 0) return;
  activity.recent += std::min(1.0, tick_seconds / kRecentSeconds) * (median - activity.recent);
  if (slower_since_ms_ != 0) return;
  const double memory = std::min(kUsualSeconds, activity.seconds);
  activity.usual += std::min(1.0, tick_seconds / memory) * (median - activity.usual);
}

void JobActivity::Conclude(int64_t time_ms) {
  bool standing = true;
  int known = 0;
  loss_ = 0;
  double slowest = 0;
  for (const auto& [metric, activity] : series_) {
    if (activity.seconds < kLearningSeconds || activity.usual <= 0) continue;
    ++known;
    standing = standing && activity.now < kStanding * activity.usual;
    loss_ = std::max(loss_, 1 - activity.now / activity.usual);
    // Traffic comes in bursts that are as long as steps: its mean over less than many of them says nothing.
    if (metric >= Metric::kGpuUtilizationRatio) slowest = std::max(slowest, 1 - activity.recent / activity.usual);
  }
  standing = standing && known > 0;
  if (!standing) loss_ = slowest;
  Hold(standing, time_ms, &standing_since_ms_);
  Hold(standing && utilisation_ >= kBusy, time_ms, &stuck_since_ms_);
  if (!standing) Hold(known > 0 && slowest > kSlower, time_ms, &slower_since_ms_);
}

int64_t JobActivity::hurt_since_ms() const { return standing_since_ms_ != 0 ? standing_since_ms_ : slower_since_ms_; }

bool JobActivity::IsHurt(int64_t now_ms) const {
  return Lasts(stuck_since_ms_, now_ms, kStuckMs) || Lasts(standing_since_ms_, now_ms, kPauseMs) ||
         Lasts(slower_since_ms_, now_ms, kSlowerMs);
}

}  // namespace lockstep
