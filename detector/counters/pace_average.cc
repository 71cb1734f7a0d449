#include "detector/counters/pace_average.h"

#include <algorithm>
#include <cmath>

#include "detector/stats/false_alarm_budget.h"

namespace lockstep {
namespace {

// Of the level, until it is known. Empirical.
constexpr float kUsualDeviation = 0.02F;
constexpr double kPriorAverages = 0.5;  // what that counts: half an average that has nothing in common with others

}  // namespace

PaceAverage::PaceAverage() { deviation_.fill(kUsualDeviation * kUsualDeviation); }

size_t PaceAverage::ShortestParts(double tick_seconds) {
  return kParts * static_cast<size_t>(std::max(1.0, std::ceil(kShortest / tick_seconds)));
}

size_t PaceAverage::LongestParts(double tick_seconds) {
  return kParts * std::min(kMostTicks, static_cast<size_t>(kLongest / tick_seconds));
}

double PaceAverage::MeanOf(size_t parts) const {
  const size_t ticks = parts / kParts;
  const double rest = static_cast<double>(parts % kParts) / kParts;
  const double oldest = rest == 0 ? 0 : rest * (sums_[ticks + 1] - sums_[ticks]);
  return (sums_[ticks] + oldest) / (static_cast<double>(ticks) + rest);
}

void PaceAverage::Add(double value) {
  for (size_t ticks = 1; ticks <= kMostTicks; ++ticks) {
    sums_[ticks] += value - (full_ < ticks ? 0 : newest_[(next_ + kMostTicks - ticks) % kMostTicks]);
  }
  newest_[next_] = value;
  next_ = (next_ + 1) % kMostTicks;
  full_ = std::min(full_ + 1, kMostTicks);
}

void PaceAverage::LearnDeviation(double usual, double weight) {
  if (usual <= 0) return;
  for (size_t parts = 1; parts <= Known(); ++parts) {
    const double off = MeanOf(parts) / usual - 1;
    const double all = static_cast<double>(++learnt_[parts]) + kPriorAverages * static_cast<double>(parts) / kParts;
    // What lies beyond the ripples is news, not deviation: a fault that lets the job first compute for longer must not
    // hide that it is slower then.
    const double most = kRipples * kRipples * deviation_[parts];
    deviation_[parts] +=
        static_cast<float>(std::max(weight, 1 / all) * (std::min(off * off, most) - deviation_[parts]));
    lows_[parts].block = std::max(lows_[parts].block, static_cast<float>(-off));
  }
  if (++block_ticks_ == kBlockTicks) EndBlock(weight);
}

void PaceAverage::EndBlock(double weight) {
  block_ticks_ = 0;
  blocks_ = std::min(blocks_ + 1, kBlocksBefore);
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

double PaceAverage::RipplesOf(size_t parts, double ripples) const {
  if (blocks_ == kBlocksBefore) return ripples;
  const double averages = static_cast<double>(learnt_[parts]) * kParts / static_cast<double>(parts);
  return StudentOf(ripples, std::max(1.0, averages));
}

Slowness PaceAverage::SlowerThan(double usual, double tick_seconds) const {
  Slowness slowness;
  if (usual <= 0) return slowness;
  const size_t longest = std::min(Known(), LongestParts(tick_seconds));
  for (size_t begin = ShortestParts(tick_seconds); begin <= longest; begin *= 2) {
    const auto* const first = deviation_.begin() + static_cast<ptrdiff_t>(begin);
    const auto* const last = deviation_.begin() + static_cast<ptrdiff_t>(std::min(2 * begin, longest + 1));
    const auto* const calmest = std::min_element(first, last);
    const auto parts = static_cast<size_t>(calmest - deviation_.begin());
    const double off = 1 - MeanOf(parts) / usual;
    const double deviation = std::sqrt(*calmest);
    const double before = lows_[parts].before;
    if (off <= std::max({kSlower, RipplesOf(parts, kFewRipples) * deviation, before})) continue;
    slowness.seeming = std::max(slowness.seeming, off);
    if (off <= std::max(RipplesOf(parts, kRipples) * deviation, kMoreThanEver * before)) continue;
    if (slowness.share == 0) slowness.seconds = static_cast<double>(parts) / kParts * tick_seconds;
    slowness.share = std::max(slowness.share, off);
  }
  return slowness;
}

}  // namespace lockstep
