#include "detector/sentinel/pace_sentinel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// Each about 1.6 times the one before: no change is seen much later than at the best length.
constexpr size_t kLengths[] = {3, 5, 8, 13, 21, 34, 55, 89};
// The level's median and deviation are those of the steps before the longest test, learnt anew this often.
constexpr size_t kLearnEvery = 16;
// Variance of a median of n normal values, over that of one, times n: pi / 2.
constexpr double kMedianVariance = 1.571;
// Steps are told apart no finer than this share of their length: clocks and reports are no better.
constexpr double kLeastDeviation = 0.005;

}  // namespace

double PaceSentinel::ErrorsFromLevel(size_t count) const {
  double sum = 0;
  for (size_t i = steps_.size() - count; i < steps_.size(); ++i) {
    sum += std::clamp((steps_[i] - median_) / deviation_, -kMostDeviations, kMostDeviations);
  }
  const auto newest = static_cast<double>(count);
  return sum / newest / std::sqrt(1 / newest + kMedianVariance / static_cast<double>(learnt_));
}

size_t PaceSentinel::ChangedSteps() const {
  if (median_ <= 0) return 0;
  for (const size_t count : kLengths) {
    if (count + kMinLevel > steps_.size()) break;
    if (std::abs(ErrorsFromLevel(count)) < kChangedErrors) continue;
    const std::vector<double> newest(steps_.end() - static_cast<int64_t>(count), steps_.end());
    if (std::abs(LowerMedianOrNan(newest) - median_) >= kMinShift * median_) return count;
  }
  return 0;
}

void PaceSentinel::Learn() {
  const size_t tested = std::min(steps_.size() - kMinLevel, kLengths[std::size(kLengths) - 1]);
  const std::vector<double> before(steps_.begin(), steps_.end() - static_cast<int64_t>(tested));
  median_ = LowerMedianOrNan(before);
  learnt_ = before.size();
  // A deviation of n values is known to one part in sqrt(n) or so: what it is at most.
  const double at_most = 1 + 2 / std::sqrt(static_cast<double>(learnt_));
  deviation_ = std::max(at_most * RobustDeviation(before), kLeastDeviation * median_);
  unlearnt_ = 0;
  at_usual_ = at_usual_ || usual_seconds_ <= 0 || median_ <= (1 + kMinShift) * usual_seconds_;
  if (at_usual_) usual_seconds_ = median_;
}

void PaceSentinel::BeginLevel(size_t newest) {
  steps_.erase(steps_.begin(), steps_.end() - static_cast<int64_t>(newest));
  median_ = deviation_ = 0;
  unlearnt_ = 0;
  since_change_ = static_cast<int64_t>(newest);
  at_usual_ = false;
}

bool PaceSentinel::Observe(double seconds) {
  steps_.push_back(seconds);
  if (steps_.size() > kMaxLevel) steps_.pop_front();
  ++unlearnt_;
  ++since_change_;
  const size_t changed = ChangedSteps();
  if (changed > 0) {
    BeginLevel(changed);
    return true;
  }
  const bool first = median_ <= 0 && steps_.size() >= kMinLevel;
  if (first || (median_ > 0 && unlearnt_ >= kLearnEvery)) Learn();
  return false;
}

double PaceSentinel::level_seconds() const {
  if (steps_.empty()) return 0;
  const size_t count = std::min(steps_.size(), kMinLevel);
  return LowerMedianOrNan(std::vector<double>(steps_.end() - static_cast<int64_t>(count), steps_.end()));
}

bool PaceSentinel::slower() const {
  return !at_usual_ && usual_seconds_ > 0 && level_seconds() > (1 + kMinShift) * usual_seconds_;
}

void PaceSentinel::Advance(int64_t now_ns, bool explained) {
  if (!slower() || explained) {
    slower_since_ns_ = slower() ? now_ns : 0;
    return;
  }
  if (slower_since_ns_ == 0) slower_since_ns_ = now_ns;
  if (now_ns - slower_since_ns_ < kPatienceNs) return;
  usual_seconds_ = level_seconds();
  at_usual_ = true;
  slower_since_ns_ = 0;
}

}  // namespace lockstep
