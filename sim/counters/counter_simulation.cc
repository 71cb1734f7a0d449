#include "sim/counters/counter_simulation.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "sim/chance.h"
#include "sim/counters/counter_effects.h"

namespace lockstep {
namespace {

enum class DeviceKind : uint8_t { kHost, kGpu, kHca, kInterface };

// A metric while the job trains (in the compute and in the communication part of a step), pauses, and hangs. Counters
// are given per second.
struct Waveform {
  Metric metric;
  DeviceKind device;
  bool slow;
  double compute;
  double communication;
  double pause;
  double stuck;
  double jitter;  // multiplies CounterNoise::jitter
  double most;    // the value never exceeds this; 0 = no limit
};

constexpr Waveform kWaveforms[] = {
    {Metric::kHostCpuBusyRatio, DeviceKind::kHost, false, 0.16, 0.13, 0.08, 0.14, 3, 1},
    {Metric::kHostPressureCpuSomeRatio, DeviceKind::kHost, false, 0.02, 0.02, 0.01, 0.01, 6, 1},
    {Metric::kHostCpuIowaitRatio, DeviceKind::kHost, false, 0.005, 0.005, 0.06, 0.001, 8, 1},
    {Metric::kHostPressureIoSomeRatio, DeviceKind::kHost, false, 0.01, 0.01, 0.12, 0.002, 8, 1},
    {Metric::kGpuUtilizationRatio, DeviceKind::kGpu, false, 0.98, 0.95, 0.02, 1.0, 0.5, 1},
    {Metric::kGpuPowerWatts, DeviceKind::kGpu, false, 640, 420, 130, 250, 1, 700},
    {Metric::kGpuSmClockHertz, DeviceKind::kGpu, false, 1.72e9, 1.9e9, 1.98e9, 1.98e9, 0.3, 1.98e9},
    {Metric::kGpuTemperatureCelsius, DeviceKind::kGpu, true, 66, 62, 42, 50, 0.7, 100},
    {Metric::kGpuPcieLinkWidth, DeviceKind::kGpu, true, 16, 16, 16, 16, 0, 16},
    {Metric::kGpuEccUncorrectedTotal, DeviceKind::kGpu, true, 0, 0, 0, 0, 0, 0},
    {Metric::kGpuNvlinkCrcErrorsTotal, DeviceKind::kGpu, true, 0, 0, 0, 0, 0, 0},
    {Metric::kIbTransmitBytesTotal, DeviceKind::kHca, false, 3e9, 30e9, 2e7, 0, 1.5, 50e9},
    {Metric::kIbReceiveBytesTotal, DeviceKind::kHca, false, 3e9, 30e9, 2e7, 0, 1.5, 50e9},
    {Metric::kIbTransmitWaitTotal, DeviceKind::kHca, true, 2e4, 1e5, 0, 0, 8, 0},
    {Metric::kIbSymbolErrorsTotal, DeviceKind::kHca, true, 0, 0, 0, 0, 0, 0},
    {Metric::kIbOutOfSequenceTotal, DeviceKind::kHca, true, 0.2, 1, 0, 0, 20, 0},
    {Metric::kIbLinkDownedTotal, DeviceKind::kHca, true, 0, 0, 0, 0, 0, 0},
    {Metric::kNetTransmitPauseFramesTotal, DeviceKind::kInterface, false, 1, 6, 0, 0, 15, 0},
};

constexpr double kComputeShare = 0.75;  // of a step
constexpr double kInitialCount = 1e12;  // counters began to count long before the job
constexpr int64_t kDriftPeriodMs = 3'600'000;
constexpr double kBurstCpu = 0.25;
constexpr int64_t kMsPerHour = 3'600'000;

std::string DeviceName(DeviceKind kind, int32_t device) {
  switch (kind) {
    case DeviceKind::kHost:
      return "";
    case DeviceKind::kGpu:
      return absl::StrCat("gpu", device);
    case DeviceKind::kHca:
      return absl::StrCat("mlx5_", device, "/1");
    case DeviceKind::kInterface:
      return absl::StrCat("eth", device);
  }
  return "";
}

// Within [-1, 1]: a triangle, which needs no libm.
double Triangle(int64_t ms, int64_t period_ms) {
  const double turn = static_cast<double>(ms % period_ms) / static_cast<double>(period_ms);
  return turn < 0.5 ? 4 * turn - 1 : 3 - 4 * turn;
}

struct ActiveEffect {
  DrawnEffect drawn;
  const CounterFault* fault = nullptr;
};

class Simulation {
 public:
  Simulation(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed)
      : spec_(spec), faults_(faults), seed_(seed), end_ms_(spec.activity.empty() ? 0 : spec.activity.back().end_ms) {
    for (size_t i = 0; i < faults.size(); ++i) {
      for (const DrawnEffect& drawn : DrawEffects(faults[i], seed, i)) effects_.push_back({drawn, &faults[i]});
    }
  }

  MetricTable Run() {
    MetricTable table;
    table.job = spec_.job;
    for (int32_t host = 0; host < spec_.hosts; ++host) {
      table.hosts.push_back(CounterHostName(host));
      const size_t first = table.series.size();
      BeginHost(host);
      for (const Waveform& waveform : kWaveforms) {
        const int32_t devices = waveform.device == DeviceKind::kHost ? 1 : spec_.devices_per_host;
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
  struct Window {
    int64_t begin_ms;
    int64_t end_ms;
    bool Contains(int64_t ms) const { return ms >= begin_ms && ms < end_ms; }
  };

  // Windows of a rate per hour, drawn per slot of a minute.
  std::vector<Window> DrawWindows(uint64_t family, int32_t host, double per_hour, double seconds) const {
    constexpr int64_t kSlotMs = 60'000;
    const Chance chance(seed_, ChanceUse::kCounter, family, host);
    std::vector<Window> windows;
    for (int64_t slot = 0; slot * kSlotMs < end_ms_; ++slot) {
      if (chance.Unit(2 * slot) >= per_hour * kSlotMs / kMsPerHour) continue;
      const int64_t begin_ms = slot * kSlotMs + static_cast<int64_t>(chance.Unit(2 * slot + 1) * kSlotMs);
      windows.push_back({begin_ms, begin_ms + static_cast<int64_t>(seconds * 1000)});
    }
    return windows;
  }

  void BeginHost(int32_t host) {
    bursts_ = DrawWindows(1, host, spec_.noise.burst_per_hour, spec_.noise.burst_seconds);
    gaps_ = DrawWindows(2, host, spec_.noise.gap_per_hour, spec_.noise.gap_seconds);
    for (const CounterFault& fault : faults_) {
      if (fault.kind == FaultKind::kMachineUnreachable && fault.host == host) {
        gaps_.push_back({fault.begin_ms, fault.end_ms});
      }
    }
    const Chance clock(seed_, ChanceUse::kCounter, 4);
    skew_ms_ = static_cast<int64_t>(spec_.noise.clock_skew_ms * Chance::BellOf(clock.At(host)));
  }

  static bool InAny(const std::vector<Window>& windows, int64_t ms) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& w) { return w.Contains(ms); });
  }

  // The level that all machines share.
  double CommonLevel(const Waveform& waveform, int64_t ms, size_t& window) const {
    while (window + 1 < spec_.activity.size() && ms >= spec_.activity[window].end_ms) ++window;
    const ActivityWindow& now = spec_.activity[window];
    if (now.activity == Activity::kPause) return waveform.pause;
    if (now.activity == Activity::kStuck) return waveform.stuck;
    const auto step_ms = std::max<int64_t>(1, static_cast<int64_t>(now.step_seconds * 1000));
    // What is sampled is a mean over the interval before: a step shorter than that is seen as its average.
    if (step_ms <= spec_.interval_ms) {
      return kComputeShare * waveform.compute + (1 - kComputeShare) * waveform.communication;
    }
    const double phase = static_cast<double>((ms - now.begin_ms) % step_ms) / static_cast<double>(step_ms);
    return phase < kComputeShare ? waveform.compute : waveform.communication;
  }

  std::vector<ActiveEffect> EffectsOn(int32_t host, int32_t device, Metric metric) const {
    std::vector<ActiveEffect> found;
    for (const ActiveEffect& active : effects_) {
      const CounterEffect& effect = *active.drawn.effect;
      const bool here = active.fault->host == host && (effect.whole_host || active.fault->device == device);
      if (here && effect.metric == metric) found.push_back(active);
    }
    return found;
  }

  static double Affected(double value, const std::vector<ActiveEffect>& effects, int64_t ms) {
    for (const ActiveEffect& active : effects) {
      if (ms < active.fault->begin_ms || ms >= active.fault->end_ms) continue;
      const double amount = active.drawn.amount;
      switch (active.drawn.effect->mode) {
        case EffectMode::kScale:
          value *= amount;
          break;
        case EffectMode::kAdd:
          value += amount;
          break;
        case EffectMode::kSet:
          value = amount;
          break;
      }
    }
    return value;
  }

  MetricSeries Series(int32_t host, int32_t device, const Waveform& waveform) {
    const MetricInfo* const info = FindMetric(waveform.metric);
    CHECK(info != nullptr);
    MetricSeries series{.host = host,
                        .device = DeviceName(waveform.device, device),
                        .name = std::string(info->name),
                        .metric = waveform.metric};
    const CounterNoise& noise = spec_.noise;
    const uint64_t place = (static_cast<uint64_t>(host) << 32) | (static_cast<uint64_t>(device) << 16) |
                           static_cast<uint64_t>(waveform.metric);
    const Chance samples(seed_, ChanceUse::kCounter, 5, place);
    const Chance accidents(seed_, ChanceUse::kCounter, 6, place);
    const bool exact = waveform.jitter == 0;
    const double own = exact ? 1 : 1 + noise.machine_offset * Chance::BellOf(samples.At(~uint64_t{0}));
    const std::vector<ActiveEffect> effects = EffectsOn(host, device, waveform.metric);
    const bool counter = info->kind == MetricKind::kCounter;
    const int64_t interval_ms = static_cast<int64_t>(spec_.interval_ms) * (waveform.slow ? kSlowFactor : 1);
    double total = counter ? kInitialCount * samples.Unit(~uint64_t{1}) : 0;
    size_t window = 0;
    uint64_t index = 0;
    for (int64_t ms = 0; ms < end_ms_; ms += interval_ms, ++index) {
      double value = CommonLevel(waveform, ms, window) * own;
      if (!exact) {
        value *= 1 + noise.common_drift * Triangle(ms, kDriftPeriodMs);
        value *= std::max(0.0, 1 + noise.jitter * waveform.jitter * Chance::BellOf(samples.At(index)));
      }
      if (waveform.metric == Metric::kHostCpuBusyRatio && InAny(bursts_, ms)) value += kBurstCpu;
      value = Affected(value, effects, ms);
      if (waveform.most > 0) value = std::min(value, waveform.most);
      total += value * static_cast<double>(interval_ms) / 1000;
      const uint64_t accident = accidents.At(index);
      if (Chance::UnitOf(accident) < noise.missing_share || InAny(gaps_, ms)) continue;
      // Counters count whole things.
      double shown = counter ? static_cast<double>(static_cast<int64_t>(total)) : value;
      if (Chance::UnitOf(MixBits(accident)) < noise.nan_share) shown = std::numeric_limits<double>::quiet_NaN();
      const int copies = Chance::UnitOf(MixBits(accident + 1)) < noise.duplicate_share ? 2 : 1;
      for (int copy = 0; copy < copies; ++copy) {
        series.time_ms.push_back(ms + skew_ms_);
        series.value.push_back(shown);
      }
    }
    return series;
  }

  const CounterSpec& spec_;
  const absl::Span<const CounterFault> faults_;
  const uint64_t seed_;
  const int64_t end_ms_;
  std::vector<ActiveEffect> effects_;
  // Of the host being made.
  std::vector<Window> bursts_;
  std::vector<Window> gaps_;
  int64_t skew_ms_ = 0;
};

}  // namespace

std::string CounterHostName(int32_t host) { return absl::StrFormat("node-%05d", host); }

MetricTable SimulateCounters(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed) {
  return Simulation(spec, faults, seed).Run();
}

CounterFault RandomMinderFault(const CounterSpec& spec, Random& random) {
  constexpr int64_t kShortestMs = 240'000;
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
