#include "detector/investigation/step_level.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "detector/structure/robust.h"

namespace lockstep {
namespace {

constexpr double kMinExcess = 0.10;
constexpr double kDeviations = 4;
constexpr int64_t kSampleNs = kNanosPerSecond;
constexpr int64_t kConfirmNs = 3 * kNanosPerSecond;
constexpr int64_t kPatienceNs = 600 * kNanosPerSecond;

}  // namespace

void StepLevel::Clear() { *this = StepLevel(); }

void StepLevel::Learn(int64_t now_ns, double step_seconds) {
  sampled_ns_ = now_ns;
  samples_.push_back(step_seconds);
  if (samples_.size() > kMaxSamples) samples_.pop_front();
  if (samples_.size() < kMinSamples) return;
  const std::vector<double> values(samples_.begin(), samples_.end());
  usual_seconds_ = Median(values);
  limit_seconds_ = usual_seconds_ + std::max(kMinExcess * usual_seconds_, kDeviations * RobustDeviation(values));
}

void StepLevel::Observe(int64_t now_ns, double step_seconds, uint64_t unit, bool found) {
  if (unit != unit_) Clear();
  unit_ = unit;
  newest_seconds_ = step_seconds;
  const double limit = slower_ ? (usual_seconds_ + limit_seconds_) / 2 : limit_seconds_;
  const bool above = usual_seconds_ > 0 && step_seconds > limit;
  if (!above) {
    above_since_ns_ = 0;
    slower_ = false;
    if (samples_.empty() || now_ns - sampled_ns_ >= kSampleNs) Learn(now_ns, step_seconds);
    return;
  }
  if (above_since_ns_ == 0) above_since_ns_ = now_ns;
  slower_ = slower_ || now_ns - above_since_ns_ >= kConfirmNs;
  if (!found && now_ns - above_since_ns_ >= kPatienceNs) {
    Clear();
    unit_ = unit;
  }
}

}  // namespace lockstep
