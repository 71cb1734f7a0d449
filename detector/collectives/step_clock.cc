#include "detector/collectives/step_clock.h"

#include <algorithm>

#include "base/clock.h"
#include "detector/collectives/step_period.h"

namespace lockstep {
namespace {

constexpr size_t kMinCalls = 12;  // fewer say nothing about a period
constexpr double kRecentSeconds = 2.0;
constexpr double kUsualQuantile = 0.97;

}  // namespace

void StepClock::Append(uint64_t signature, uint64_t anchor_sequence, int64_t end_ns) {
  if (calls_.size() < kMaxCalls) {
    calls_.push_back(signature);
    call_is_anchor_.push_back(anchor_sequence != 0);
  } else {
    calls_[next_call_] = signature;
    call_is_anchor_[next_call_] = anchor_sequence != 0;
  }
  next_call_ = (next_call_ + 1) % kMaxCalls;
  ++calls_seen_;
  if (anchor_sequence == 0 || anchor_sequence % anchors_per_step_ != 0) return;
  if (last_end_sequence_ != 0 && anchor_sequence > last_end_sequence_ && end_ns > last_end_ns_) {
    const uint64_t steps = (anchor_sequence - last_end_sequence_) / anchors_per_step_;
    steps_ += static_cast<int64_t>(steps);
    const double seconds = static_cast<double>(end_ns - last_end_ns_) / kNanosPerSecond / static_cast<double>(steps);
    if (step_seconds_.size() < kMaxSteps) {
      step_seconds_.push_back(seconds);
    } else {
      step_seconds_[next_step_] = seconds;
    }
    next_step_ = (next_step_ + 1) % kMaxSteps;
  }
  last_end_sequence_ = anchor_sequence;
  last_end_ns_ = end_ns;
}

bool StepClock::Refresh() {
  // Doubling intervals while the ring fills, then once per ring: a period does not change often.
  const uint64_t due =
      std::max<uint64_t>(kMinCalls, std::min<uint64_t>(calls_at_refresh_ * 2, calls_at_refresh_ + kMaxCalls));
  if (calls_seen_ < due) return false;
  calls_at_refresh_ = calls_seen_;
  std::vector<uint64_t> ordered;
  ordered.reserve(calls_.size());
  const size_t oldest = calls_.size() < kMaxCalls ? 0 : next_call_;
  for (size_t i = 0; i < calls_.size(); ++i) ordered.push_back(calls_[(oldest + i) % calls_.size()]);
  const size_t period = SmallestPeriod(ordered, StepPeriodOptions{});
  uint64_t anchors = 0;
  for (size_t i = 0; i < period; ++i) {
    anchors += call_is_anchor_[(oldest + calls_.size() - 1 - i) % calls_.size()] ? 1 : 0;
  }
  anchors = std::max<uint64_t>(anchors, 1);
  if (anchors == anchors_per_step_) return false;
  steps_ = steps_ * static_cast<int64_t>(anchors_per_step_) / static_cast<int64_t>(anchors);
  anchors_per_step_ = anchors;
  step_seconds_.clear();
  next_step_ = 0;
  last_end_sequence_ = 0;
  return true;
}

double StepClock::StepSecondsQuantile(double quantile) const {
  if (step_seconds_.empty()) return 0;
  std::vector<double> sorted = step_seconds_;
  const auto place = std::min(sorted.size() - 1, static_cast<size_t>(quantile * static_cast<double>(sorted.size())));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<int64_t>(place), sorted.end());
  return sorted[place];
}

double StepClock::RecentMedianStepSeconds() const {
  std::vector<double> recent;
  for (size_t i = 0; i < std::min(step_seconds_.size(), kRecentSteps); ++i) {
    recent.push_back(step_seconds_[(next_step_ + step_seconds_.size() - 1 - i) % step_seconds_.size()]);
  }
  if (recent.empty()) return 0;
  const auto middle = recent.begin() + static_cast<int64_t>(recent.size() / 2);
  std::nth_element(recent.begin(), middle, recent.end());
  return *middle;
}

double StepClock::MedianStepSeconds() const { return StepSecondsQuantile(0.5); }

double StepClock::LongestUsualStepSeconds() const { return StepSecondsQuantile(kUsualQuantile); }

double StepClock::RecentStepSeconds() const {
  double seconds = 0;
  int steps = 0;
  for (size_t i = 0; i < step_seconds_.size() && (seconds < kRecentSeconds || steps < 2); ++i, ++steps) {
    seconds += step_seconds_[(next_step_ + step_seconds_.size() - 1 - i) % step_seconds_.size()];
  }
  return steps == 0 ? 0 : seconds / steps;
}

}  // namespace lockstep
