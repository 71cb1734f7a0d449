#include "detector/counters/job_activity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep {
namespace {

// Utilisation: kernels that spin in a collective show 1.0, less what a sampling window misses.
constexpr double kBusy = 0.9;

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

// A job that is slower from time to time in less than this is slower: a step of 10 s. Empirical.
constexpr int64_t kRecoveredMs = 10'000;

bool IsLearnt(double seconds, double tick_seconds, double least_seconds, double least_ticks) {
  return seconds >= std::max(least_seconds, least_ticks * tick_seconds);
}

}  // namespace

double JobActivity::Level::Loss() const { return usual <= 0 ? 0 : 1 - now / usual; }

bool JobActivity::TellsInTime(double tick_seconds) const {
  return tick_seconds <= std::max(kLongestBesideFaster, fastest_tick_seconds_);
}

bool JobActivity::IsKnown() const {
  return std::any_of(series_.begin(), series_.end(),
                     [](const auto& known) { return known.second.readings >= kPaceTicks; });
}

void JobActivity::Observe(Metric metric, double median, double mean, int64_t time_ms, double tick_seconds) {
  if (std::isnan(median) || !TellsInTime(tick_seconds)) return;
  if (metric == Metric::kGpuUtilizationRatio) {
    utilisation_ = median;
    return;
  }
  if (tick_seconds < fastest_tick_seconds_) {
    fastest_tick_seconds_ = tick_seconds;
    std::erase_if(series_, [this](const auto& known) { return !TellsInTime(known.second.tick_seconds); });
  }
  Activity& activity = series_[metric];
  activity.median.now = median;
  activity.mean.now = mean;
  if (activity.tick_seconds == 0) {
    activity.median.usual = activity.median.lately = median;
    activity.mean.usual = activity.mean.lately = mean;
  }
  activity.tick_seconds = tick_seconds;
  activity.seconds += tick_seconds;
  ++activity.readings;
  Conclude(time_ms);
  // A job that stands is not a slower one, and a pause of it no news about its usual pace.
  if (standing_since_ms_ != 0) return;
  if (activity.resumes) {
    activity.resumes = false;
    return;
  }
  const bool known = IsLearnt(activity.seconds, tick_seconds, kLearningSeconds, kLearningTicks);
  const double weight = std::min(1.0, tick_seconds / std::min(kUsualSeconds, kRemembered * activity.seconds));
  for (Level* const level : {&activity.median, &activity.mean}) {
    level->lately += std::min(1.0, tick_seconds / kLatelySeconds) * (level->now - level->lately);
    if (known) level->average.Add(level->now);
    if (slower_since_ms_ != 0) continue;
    level->usual += weight * (level->now - level->usual);
    if (known) level->average.LearnDeviation(level->usual, weight);
  }
  if (activity.median.HasWokenUp() && activity.mean.HasWokenUp()) Relearn(&activity);
}

void JobActivity::Relearn(Activity* activity) {
  activity->seconds = 0;
  for (Level* const level : {&activity->median, &activity->mean}) {
    level->usual = level->lately;
    level->average = PaceAverage();
  }
}

void JobActivity::Conclude(int64_t time_ms) {
  bool standing = true;
  int known = 0;
  loss_ = 0;
  double slowest = 0;
  double seeming = 0;
  double lag_seconds = PaceAverage::kLongest;
  for (const auto& [metric, activity] : series_) {
    const double tick_seconds = activity.tick_seconds;
    if (!IsLearnt(activity.seconds, tick_seconds, kLearningSeconds, kLearningTicks) || activity.median.usual <= 0)
      continue;
    ++known;
    standing = standing && activity.median.now < kStanding * activity.median.usual;
    loss_ = std::max(loss_, std::min(activity.median.Loss(), activity.mean.Loss()));
    // Traffic comes in bursts that are as long as steps: its mean over less than many of them says nothing.
    if (metric < Metric::kGpuUtilizationRatio || !IsLearnt(activity.seconds, tick_seconds, kPaceSeconds, kPaceTicks)) {
      continue;
    }
    const Slowness median = activity.median.average.SlowerThan(activity.median.usual, tick_seconds);
    const Slowness mean = activity.mean.average.SlowerThan(activity.mean.usual, tick_seconds);
    seeming = std::max(seeming, std::min(median.seeming, mean.seeming));
    if (median.share == 0 || mean.share == 0) continue;
    slowest = std::max(slowest, std::min(median.share, mean.share));
    lag_seconds = std::min(lag_seconds, std::max(median.seconds, mean.seconds));
  }
  standing = standing && known > 0;
  if (!standing) loss_ = seeming;
  if (standing_since_ms_ != 0 && !standing) Resume(time_ms);
  Hold(standing, time_ms, &standing_since_ms_);
  Hold(standing && utilisation_ >= kBusy, time_ms, &stuck_since_ms_);
  if (standing) {
    // What looked slower a moment ago was the beginning of the pause.
    if (!IsSlower()) slower_since_ms_ = slower_last_ms_ = 0;
    return;
  }
  if (slowest > 0) slower_last_ms_ = std::max(slower_last_ms_, time_ms);
  if (slower_since_ms_ == 0) slower_lag_ms_ = LagOf(time_ms, static_cast<int64_t>(1000 * lag_seconds));
  const bool lately = time_ms - slower_last_ms_ <= std::max(kRecoveredMs, NextReadingMs());
  Hold(slower_last_ms_ != 0 && lately, time_ms, &slower_since_ms_);
}

bool JobActivity::IsSlower() const { return Lasts(slower_since_ms_, slower_last_ms_, kSlowerMs); }

// By how much the degradation may have begun earlier than an average over `average_ms` shows it. After a pause averages
// have to fill up again: what they show as soon as they have may have begun right before it.
int64_t JobActivity::LagOf(int64_t time_ms, int64_t average_ms) const {
  const bool just_resumed = resumed_ms_ != 0 && time_ms - resumed_ms_ <= 2 * average_ms;
  return average_ms + (just_resumed ? time_ms - paused_ms_ : 0);
}

// The last ticks before a pause and the first after it hold part of it. Whether a slower job is still slower is known
// again when the average that showed it has filled up.
void JobActivity::Resume(int64_t time_ms) {
  paused_ms_ = standing_since_ms_;
  resumed_ms_ = time_ms;
  if (slower_since_ms_ != 0) slower_last_ms_ = time_ms + slower_lag_ms_;
  for (auto& [metric, activity] : series_) {
    for (Level* const level : {&activity.median, &activity.mean}) level->average.Restart();
    activity.resumes = true;
  }
}

int64_t JobActivity::degraded_since_ms() const {
  return standing_since_ms_ != 0 ? standing_since_ms_ : slower_since_ms_;
}

bool JobActivity::IsDegraded(int64_t now_ms) const {
  return Lasts(stuck_since_ms_, now_ms, std::max(kStuckMs, NextReadingMs())) ||
         Lasts(standing_since_ms_, now_ms, std::max(kPauseMs, NextReadingMs())) || IsSlower();
}

}  // namespace lockstep
