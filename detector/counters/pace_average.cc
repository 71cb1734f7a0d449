#include "detector/counters/pace_average.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kUsualSwing = 0.02;    // of the level, until it is known
constexpr double kPriorAverages = 0.5;  // what that counts: half an average that has nothing in common with others

}  // namespace

PaceAverage::PaceAverage() { swing_.fill(kUsualSwing * kUsualSwing); }

size_t PaceAverage::ShortestTicks(double tick_seconds) {
  return static_cast<size_t>(std::max(1.0, std::ceil(kShortest / tick_seconds)));
}

size_t PaceAverage::LongestTicks(double tick_seconds) {
  return std::min(kMostTicks, static_cast<size_t>(kLongest / tick_seconds));
}

void PaceAverage::Add(double value) {
  for (size_t ticks = 1; ticks <= kMostTicks; ++ticks) {
    sums_[ticks] += value - (full_ < ticks ? 0 : newest_[(next_ + kMostTicks - ticks) % kMostTicks]);
  }
  newest_[next_] = value;
  next_ = (next_ + 1) % kMostTicks;
  full_ = std::min(full_ + 1, kMostTicks);
}

void PaceAverage::LearnSwing(double usual, double weight) {
  if (usual <= 0) return;
  for (size_t ticks = 1; ticks <= full_; ++ticks) {
    const double off = MeanOf(ticks) / usual - 1;
    const double all = static_cast<double>(++learnt_[ticks]) + kPriorAverages * static_cast<double>(ticks);
    // What lies beyond the ripples is news, not swing: a fault that lets the job first compute for longer must not hide
    // that it is slower then.
    const double most = kRipples * kRipples * swing_[ticks];
    swing_[ticks] += std::max(weight, 1 / all) * (std::min(off * off, most) - swing_[ticks]);
    lows_[ticks].block = std::max(lows_[ticks].block, static_cast<float>(-off));
  }
  if (++block_ticks_ == kBlockTicks) EndBlock(weight);
}

void PaceAverage::EndBlock(double weight) {
  block_ticks_ = 0;
  const double kept = std::pow(1 - weight, kBlockTicks);
  for (Lows& lows : lows_) {
    lows.before = std::max(static_cast<float>(kept) * lows.before, lows.last);
    lows.last = lows.block;
    lows.block = 0;
  }
}

void PaceAverage::Restart() {
  sums_.fill(0);
  full_ = 0;
}

Slowness PaceAverage::SlowerThan(double usual, double tick_seconds) const {
  Slowness slowness;
  if (usual <= 0) return slowness;
  const size_t longest = std::min(full_, LongestTicks(tick_seconds));
  for (size_t begin = ShortestTicks(tick_seconds); begin <= longest; begin *= 2) {
    const auto* const first = swing_.begin() + static_cast<ptrdiff_t>(begin);
    const auto* const last = swing_.begin() + static_cast<ptrdiff_t>(std::min(2 * begin, longest + 1));
    const auto* const calmest = std::min_element(first, last);
    const auto ticks = static_cast<size_t>(calmest - swing_.begin());
    const double off = 1 - MeanOf(ticks) / usual;
    if (off <= std::max({kSlower, kRipples * std::sqrt(*calmest), kMoreThanEver * lows_[ticks].before})) continue;
    if (slowness.share == 0) slowness.seconds = static_cast<double>(ticks) * tick_seconds;
    slowness.share = std::max(slowness.share, off);
  }
  return slowness;
}

}  // namespace lockstep
