#include "sim/counters/counter_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/metric_catalog.h"
#include "sim/chance.h"
#include "sim/counters/counter_effects.h"
#include "sim/counters/host_timeline.h"
#include "sim/counters/level_change.h"
#include "sim/counters/triangle_wave.h"
#include "sim/counters/waveform.h"

namespace lockstep {
namespace {

// Families of draws; 1, 2, 4 and 8 belong to HostTimeline, 3 to DrawEffects, 7 to DrawChanges.
enum Family : uint64_t { kSamples = 5, kAccidents = 6 };

constexpr double kInitialCount = 1e12;  // counters began to count long before the job
constexpr int64_t kMachineDriftPeriodMs = 3'600'000;
constexpr double kBurstCpu = 0.25;
constexpr double kBurstPressure = 0.05;
constexpr double kSpikeMost = 8;  // times the jitter, times a blow of mean 1 and at most 3

// True for a share of all bits, as Chance::UnitOf would tell.
class Rarely {
 public:
  explicit Rarely(double share) : below_(static_cast<uint64_t>(std::ceil(share * 0x1.0p53))) {}
  bool Of(uint64_t bits) const { return (bits >> 11) < below_; }

 private:
  const uint64_t below_;
};

// What a burst adds.
double BurstOf(Metric metric) {
  if (metric == Metric::kHostCpuBusyRatio) return kBurstCpu;
  return metric == Metric::kHostPressureCpuSomeRatio ? kBurstPressure : 0;
}

// Jitter of one series: samples remember the one before, and a few are far off.
class Jitter {
 public:
  Jitter(const CounterNoise& noise, const Waveform& waveform)
      : deviation_(noise.jitter * waveform.jitter),
        memory_(waveform.slow ? 0 : noise.jitter_memory),
        fresh_(std::sqrt(1 - memory_ * memory_)),
        spike_share_(noise.spike_share) {}

  double FactorOf(uint64_t bits) {
    state_ = memory_ * state_ + fresh_ * Chance::BellOf(bits);
    double off = state_;
    if (Chance::HitOf(bits, spike_share_)) {
      const uint64_t more = MixBits(bits);
      off += (more & 1) == 0 ? kSpikeMost * Chance::BlowOf(more) : -kSpikeMost * Chance::BlowOf(more);
    }
    return std::max(0.0, 1 + deviation_ * off);
  }

 private:
  const double deviation_;
  const double memory_;
  const double fresh_;
  const double spike_share_;
  double state_ = 0;
};

// The level of one series without jitter.
class Level {
 public:
  Level(const Waveform& waveform, const CounterNoise& noise, const Chance& samples, std::vector<LevelChange> changes)
      : waveform_(waveform),
        is_exact_(waveform.jitter == 0),
        burst_(BurstOf(waveform.metric)),
        own_(is_exact_ ? 1 : 1 + noise.machine_offset * Chance::BellOf(samples.At(~uint64_t{0}))),
        own_phase_(samples.Unit(~uint64_t{2})),
        own_drift_(noise.machine_drift * own_phase_),
        own_wave_(own_phase_),
        changes_(std::move(changes)) {}

  double At(const HostTick& tick) const {
    double value = CommonLevel(waveform_, tick.activity, tick.compute_share) * own_;
    if (!is_exact_) {
      value *= tick.drift;
      value *= 1 + own_drift_ * own_wave_.At(tick.ms);
    }
    return Changed(value + (tick.in_burst ? burst_ : 0), changes_, tick.ms);
  }

 private:
  const Waveform& waveform_;
  const bool is_exact_;  // the same on all machines
  const double burst_;
  const double own_;
  const double own_phase_;
  const double own_drift_;
  const TriangleWave<kMachineDriftPeriodMs> own_wave_;
  const std::vector<LevelChange> changes_;
};

class Simulation {
 public:
  Simulation(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed)
      : spec_(spec),
        faults_(faults),
        seed_(seed),
        missing_(spec.noise.missing_share),
        sentinel_(spec.noise.sentinel_share),
        nan_(spec.noise.nan_share),
        duplicate_(spec.noise.duplicate_share),
        changes_(DrawChanges(spec, faults, seed)) {}

  MetricTable Run() {
    MetricTable table;
    table.job = spec_.job;
    for (int32_t host = 0; host < spec_.hosts; ++host) {
      table.hosts.push_back(CounterHostName(host));
      const size_t first = table.series.size();
      BeginHost(host);
      for (const Waveform& waveform : Waveforms()) {
        const int32_t devices = waveform.device == CounterDevice::kHost ? 1 : spec_.devices_per_host;
        for (int32_t device = 0; device < devices; ++device) table.series.push_back(Series(host, device, waveform));
      }
      std::sort(table.series.begin() + static_cast<ptrdiff_t>(first), table.series.end(),
                [](const MetricSeries& a, const MetricSeries& b) {
                  return std::pair(a.device, a.name) < std::pair(b.device, b.name);
                });
    }
    return table;
  }

 private:
  void BeginHost(int32_t host) {
    host_changes_.clear();
    for (const LevelChange& change : changes_) {
      if (change.host < 0 || change.host == host) host_changes_.push_back(change);
    }
    const HostTimeline timeline(spec_, faults_, seed_, host);
    skew_ms_ = timeline.skew_ms();
    fast_ticks_ = timeline.TicksEvery(spec_.interval_ms);
    slow_ticks_ = timeline.TicksEvery(static_cast<int64_t>(spec_.interval_ms) * kSlowFactor);
  }

  MetricSeries Series(int32_t host, int32_t device, const Waveform& waveform) const {
    const MetricInfo* const info = FindMetric(waveform.metric);
    CHECK(info != nullptr);
    MetricSeries series{.host = host,
                        .device = CounterDeviceName(waveform.device, device),
                        .name = std::string(info->name),
                        .metric = waveform.metric};
    const uint64_t place = (static_cast<uint64_t>(host) << 32) | (static_cast<uint64_t>(device) << 16) |
                           static_cast<uint64_t>(waveform.metric);
    const Chance samples(seed_, ChanceUse::kCounter, kSamples, place);
    const Chance accidents(seed_, ChanceUse::kCounter, kAccidents, place);
    const Level level(waveform, spec_.noise, samples, ChangesOn(host_changes_, host, device, waveform.metric));
    const bool counter = info->kind == MetricKind::kCounter;
    const std::vector<HostTick>& ticks = waveform.slow ? slow_ticks_ : fast_ticks_;
    const auto interval_ms = static_cast<double>(spec_.interval_ms * (waveform.slow ? kSlowFactor : 1));
    series.time_ms.reserve(ticks.size() + 1);
    series.value.reserve(ticks.size() + 1);
    Jitter jitter(spec_.noise, waveform);
    double total = counter ? kInitialCount * samples.Unit(~uint64_t{1}) : 0;
    for (size_t i = 0; i < ticks.size(); ++i) {
      const HostTick& tick = ticks[i];
      double value = level.At(tick);
      if (waveform.jitter > 0) value *= jitter.FactorOf(samples.At(i));
      if (waveform.most > 0) value = std::min(value, waveform.most);
      if (counter && tick.in_restart) total = 0;
      total += value * interval_ms / 1000;
      Report(waveform, counter ? total : value, counter, tick, accidents.At(i), &series);
    }
    return series;
  }

  // Appends the sample, or what becomes of it on its way.
  void Report(const Waveform& waveform, double value, bool counter, const HostTick& tick, uint64_t accident,
              MetricSeries* series) const {
    if (missing_.Of(accident) || tick.in_gap) return;
    const uint64_t first = MixBits(accident), second = MixBits(accident + 1);
    // Counters count whole things.
    double shown = counter ? static_cast<double>(static_cast<int64_t>(value)) : value;
    if (waveform.device == CounterDevice::kGpu && sentinel_.Of(MixBits(first))) shown = kBlankSentinel;
    if (nan_.Of(first)) shown = std::numeric_limits<double>::quiet_NaN();
    const int copies = duplicate_.Of(second) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      series->time_ms.push_back(tick.ms + skew_ms_);
      series->value.push_back(shown);
    }
  }

  const CounterSpec& spec_;
  const absl::Span<const CounterFault> faults_;
  const uint64_t seed_;
  const Rarely missing_;
  const Rarely sentinel_;
  const Rarely nan_;
  const Rarely duplicate_;
  const std::vector<LevelChange> changes_;
  // Of the host being made.
  std::vector<LevelChange> host_changes_;
  int64_t skew_ms_ = 0;
  std::vector<HostTick> fast_ticks_;
  std::vector<HostTick> slow_ticks_;
};

}  // namespace

std::string CounterHostName(int32_t host) { return absl::StrFormat("node-%05d", host); }

MetricTable SimulateCounters(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed) {
  return Simulation(spec, faults, seed).Run();
}

CounterFault RandomMinderFault(const CounterSpec& spec, Random& random) {
  constexpr int64_t kShortestMs = 360'000;
  double draw = random.Unit();
  const MinderFault* chosen = &MinderMix().back();
  for (const MinderFault& row : MinderMix()) {
    if (draw < row.share) {
      chosen = &row;
      break;
    }
    draw -= row.share;
  }
  const int64_t end_ms = spec.activity.back().end_ms;
  CounterFault fault{.kind = chosen->kind};
  fault.host = static_cast<int32_t>(random.Below(spec.hosts));
  fault.device = static_cast<int32_t>(random.Below(spec.devices_per_host));
  fault.begin_ms = end_ms / 4 + static_cast<int64_t>(random.Unit() * static_cast<double>(end_ms / 2));
  const int64_t room_ms = std::max<int64_t>(0, end_ms - fault.begin_ms - kShortestMs);
  fault.end_ms = std::min(
      end_ms, fault.begin_ms + kShortestMs + static_cast<int64_t>(random.Unit() * static_cast<double>(room_ms)));
  return fault;
}

}  // namespace lockstep
