#include "sim/counters/level_change.h"

#include <algorithm>
#include <iterator>

#include "sim/chance.h"

namespace lockstep {
namespace {

using M = Metric;
using enum EffectMode;

// How much of a change of the job's load a metric takes part in.
struct LoadShare {
  Metric metric;
  double share;
};
constexpr LoadShare kLoadShares[] = {
    {M::kGpuPowerWatts, 0.5},         {M::kGpuTensorActiveRatio, 1},     {M::kGpuGraphicsActiveRatio, 0.3},
    {M::kGpuNvlinkBytesPerSecond, 1}, {M::kIbTransmitBytesTotal, 1},     {M::kIbReceiveBytesTotal, 1},
    {M::kHostCpuBusyRatio, 0.4},      {M::kGpuTemperatureCelsius, 0.15},
};
constexpr double kLoadResponseSpread = 0.1;  // machines follow the load within so much of the change
constexpr double kRebalancedMore = 1.08;
constexpr double kRebalancedLess = 0.97;

struct BackupEffect {
  Metric metric;
  double least;
  double most;
};
constexpr BackupEffect kBackupEffects[] = {
    {M::kHostCpuBusyRatio, 0.08, 0.25},
    {M::kHostCpuIowaitRatio, 0.03, 0.15},
    {M::kHostPressureIoSomeRatio, 0.05, 0.4},
};

// 1 where the effect raises the level of a job that trains, -1 where it lowers it.
double DirectionOf(const DrawnEffect& drawn) {
  if (drawn.effect->mode == kAdd) return 1;
  const double neutral = drawn.effect->mode == kScale ? 1 : WaveformOf(drawn.effect->metric).compute;
  return drawn.amount < neutral ? -1 : 1;
}

bool IsNoisy(const Waveform& waveform) { return waveform.jitter > 0 && waveform.compute > 0; }

void AddFault(const CounterSpec& spec, const CounterFault& fault, uint64_t seed, uint64_t which,
              std::vector<LevelChange>* changes) {
  std::vector<DrawnEffect> drawn = DrawEffects(fault, seed, which);
  const auto is_silent = [](const DrawnEffect& d) { return !IsNoisy(WaveformOf(d.effect->metric)); };
  if (fault.sigmas > 0 && std::all_of(drawn.begin(), drawn.end(), is_silent)) {
    drawn.clear();
    for (const CounterEffect& effect : EffectTable()) {
      if (effect.kind == fault.kind) drawn.push_back({&effect, (effect.least + effect.most) / 2});
    }
  }
  for (const DrawnEffect& one : drawn) {
    LevelChange change{.metric = one.effect->metric,
                       .host = fault.host,
                       .device = one.effect->whole_host ? -1 : fault.device,
                       .mode = one.effect->mode,
                       .amount = one.amount,
                       .begin_ms = fault.begin_ms,
                       .end_ms = fault.end_ms,
                       .ramp_ms = fault.ramp_ms};
    if (fault.sigmas > 0) {
      const Waveform& waveform = WaveformOf(change.metric);
      if (!IsNoisy(waveform)) continue;
      change.mode = kScale;
      change.amount = std::max(0.0, 1 + DirectionOf(one) * fault.sigmas * spec.noise.jitter * waveform.jitter);
    }
    changes->push_back(change);
  }
}

void AddLoad(const CounterSpec& spec, const CounterOddity& oddity, const Chance& chance,
             std::vector<LevelChange>* changes) {
  for (int32_t host = 0; host < spec.hosts; ++host) {
    double factor = oddity.amount;
    if (oddity.kind == OddityKind::kRebalance) {
      factor = Chance::UnitOf(MixBits(chance.At(host))) < oddity.amount ? kRebalancedMore : kRebalancedLess;
    }
    const double followed = (factor - 1) * (1 + kLoadResponseSpread * Chance::BellOf(chance.At(host)));
    for (const LoadShare& part : kLoadShares) {
      changes->push_back({.metric = part.metric,
                          .host = host,
                          .amount = 1 + part.share * followed,
                          .begin_ms = oddity.begin_ms,
                          .end_ms = oddity.end_ms});
    }
  }
}

}  // namespace

std::vector<LevelChange> DrawChanges(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed) {
  std::vector<LevelChange> changes;
  for (size_t i = 0; i < faults.size(); ++i) AddFault(spec, faults[i], seed, i, &changes);
  for (size_t i = 0; i < spec.oddities.size(); ++i) {
    const CounterOddity& oddity = spec.oddities[i];
    const Chance chance(seed, ChanceUse::kCounter, 7, i);
    if (oddity.kind == OddityKind::kLoadShift || oddity.kind == OddityKind::kRebalance) {
      AddLoad(spec, oddity, chance, &changes);
    } else if (oddity.kind == OddityKind::kBackup) {
      for (size_t e = 0; e < std::size(kBackupEffects); ++e) {
        const BackupEffect& effect = kBackupEffects[e];
        changes.push_back({.metric = effect.metric,
                           .host = oddity.host,
                           .mode = kAdd,
                           .amount = effect.least + (effect.most - effect.least) * chance.Unit(e),
                           .begin_ms = oddity.begin_ms,
                           .end_ms = oddity.end_ms});
      }
    }
  }
  return changes;
}

std::vector<LevelChange> ChangesOn(absl::Span<const LevelChange> changes, int32_t host, int32_t device, Metric metric) {
  std::vector<LevelChange> found;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(found), [&](const LevelChange& change) {
    return change.metric == metric && (change.host < 0 || change.host == host) &&
           (change.device < 0 || change.device == device);
  });
  return found;
}

double Changed(double level, absl::Span<const LevelChange> changes, int64_t ms) {
  for (const LevelChange& change : changes) {
    if (ms < change.begin_ms || ms >= change.end_ms) continue;
    double grown = 1;
    if (ms - change.begin_ms < change.ramp_ms) {
      grown = static_cast<double>(ms - change.begin_ms) / static_cast<double>(change.ramp_ms);
    }
    switch (change.mode) {
      case kScale:
        level *= 1 + (change.amount - 1) * grown;
        break;
      case kAdd:
        level += change.amount * grown;
        break;
      case kSet:
        level += (change.amount - level) * grown;
        break;
    }
  }
  return level;
}

}  // namespace lockstep
