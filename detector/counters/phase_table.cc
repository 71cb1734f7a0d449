#include "detector/counters/phase_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "detector/counters/job_regime.h"

namespace lockstep {
namespace {

// Of the center: medians this near are one phase; common drift of a day is 2 %, phases of a step differ by 20 % or
// more.
constexpr double kSameLevel = 0.08;
// Or within so many standard errors of the median: 6 in 100,000 of a normal lie beyond.
constexpr double kMedianErrors = 4;
constexpr double kSpreads = 1;  // or within the distances between machines, which are what is measured
// Weight of what a new phase inherits: its own readings count more after ten.
constexpr double kInheritedTicks = 10;

}  // namespace

int PhaseTable::main_phase() const {
  // While everything stands, many counters do so too and tell nothing about machines.
  const auto rank = [](const LevelPhase& phase) {
    return std::pair(phase.regime == kJobWorks && phase.center != 0, phase.ticks);
  };
  const auto most = std::max_element(phases_.begin(), phases_.end(),
                                     [&](const LevelPhase& a, const LevelPhase& b) { return rank(a) < rank(b); });
  return static_cast<int>(most - phases_.begin());
}

double PhaseTable::Range(int regime) const {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const LevelPhase& phase : phases_) {
    if (phase.ticks == 0 || phase.regime != regime) continue;
    low = std::min(low, phase.center);
    high = std::max(high, phase.center);
  }
  return std::max(0.0, high - low);
}

PhaseTable::Match PhaseTable::Enter(int regime, double median, double spread, int64_t values, double gain) {
  ++tick_;
  int nearest = -1;
  double least = 0;
  for (int i = 0; i < kPhases; ++i) {
    const LevelPhase& phase = at(i);
    if (phase.ticks == 0 || phase.regime != regime) continue;
    const double distance = std::abs(median - phase.center);
    const double error = kMedianErrors * phase.spread / std::sqrt(static_cast<double>(values));
    if (distance > std::max({kSameLevel * std::abs(phase.center), error, kSpreads * phase.spread})) continue;
    if (nearest < 0 || distance < least) {
      nearest = i;
      least = distance;
    }
  }
  const bool opened = nearest < 0;
  if (opened) {
    const auto oldest = std::min_element(phases_.begin(), phases_.end(), [](const LevelPhase& a, const LevelPhase& b) {
      return a.last_tick < b.last_tick;
    });
    nearest = static_cast<int>(oldest - phases_.begin());
    const LevelPhase& main = at(main_phase());
    const double ratio = main.center == 0 ? 0 : std::abs(median / main.center);
    *oldest = {median, std::max(spread, main.spread * ratio), std::max(1.0, main.noise), regime, 0, 0};
  }
  LevelPhase& phase = at(nearest);
  const double weight = std::max(gain, 1 / (kInheritedTicks + static_cast<double>(phase.ticks)));
  phase.center += weight * (median - phase.center);
  phase.spread += weight * (spread - phase.spread);
  ++phase.ticks;
  phase.last_tick = tick_;
  return {nearest, opened};
}

}  // namespace lockstep
