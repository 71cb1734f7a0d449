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
#include "sim/counters/level_change.h"
#include "sim/counters/waveform.h"

namespace lockstep {
namespace {

// Families of draws; 3 belongs to DrawEffects, 7 to DrawChanges.
enum Family : uint64_t { kBursts = 1, kGaps = 2, kHosts = 4, kSamples = 5, kAccidents = 6, kRestarts = 8 };

constexpr double kInitialCount = 1e12;  // counters began to count long before the job
constexpr int64_t kCommonDriftPeriodMs = 24 * 3'600'000;
constexpr int64_t kMachineDriftPeriodMs = 3'600'000;
constexpr double kBurstCpu = 0.25;
constexpr double kBurstPressure = 0.05;
constexpr double kSpikeMost = 8;  // times the jitter, times a blow of mean 1 and at most 3
constexpr int64_t kMsPerHour = 3'600'000;

// Within [-1, 1]: a triangle, which needs no libm. `phase` is a share of the period.
template <int64_t kPeriodMs>
class Triangle {
 public:
  explicit Triangle(double phase) : shift_ms_(static_cast<int64_t>(phase * static_cast<double>(kPeriodMs))) {}

  double At(int64_t ms) const {
    const double turn = static_cast<double>((ms + shift_ms_) % kPeriodMs) / static_cast<double>(kPeriodMs);
    return turn < 0.5 ? 4 * turn - 1 : 3 - 4 * turn;
  }

 private:
  const int64_t shift_ms_;
};

// What all series of a host that are sampled at this moment have in common.
struct HostTick {
  int64_t ms = 0;  // true time
  Activity activity = Activity::kTraining;
  bool in_burst = false;
  bool in_gap = false;
  bool in_restart = false;
  double compute_share = 0;  // of the interval that ends here
  double drift = 1;          // factor of the slow wave that all machines share
};

// True for a share of all bits, as Chance::UnitOf would tell.
class Rarely {
 public:
  explicit Rarely(double share) : below_(static_cast<uint64_t>(std::ceil(share * 0x1.0p53))) {}
  bool Of(uint64_t bits) const { return (bits >> 11) < below_; }

 private:
  const uint64_t below_;
};

class Simulation {
 public:
  Simulation(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed)
      : spec_(spec),
        faults_(faults),
        seed_(seed),
        end_ms_(spec.activity.empty() ? 0 : spec.activity.back().end_ms),
        day_wave_(Chance(seed, ChanceUse::kCounter, kHosts).Unit(~uint64_t{0})),
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
  struct Window {
    int64_t begin_ms;
    int64_t end_ms;
    bool Contains(int64_t ms) const { return ms >= begin_ms && ms < end_ms; }
  };

  // Windows of a rate per hour, drawn per slot of a minute.
  std::vector<Window> DrawWindows(Family family, int32_t host, double per_hour, double seconds) const {
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
    bursts_ = DrawWindows(kBursts, host, spec_.noise.burst_per_hour, spec_.noise.burst_seconds);
    restarts_ = DrawWindows(kRestarts, host, spec_.noise.restart_per_hour, kRestartGapSeconds);
    gaps_ = DrawWindows(kGaps, host, spec_.noise.gap_per_hour, spec_.noise.gap_seconds);
    gaps_.insert(gaps_.end(), restarts_.begin(), restarts_.end());
    for (const CounterFault& fault : faults_) {
      if (fault.kind == FaultKind::kMachineUnreachable && fault.host == host) {
        gaps_.push_back({fault.begin_ms, fault.end_ms});
      }
    }
    host_changes_.clear();
    for (const LevelChange& change : changes_) {
      if (change.host < 0 || change.host == host) host_changes_.push_back(change);
    }
    const Chance clock(seed_, ChanceUse::kCounter, kHosts);
    skew_ms_ = static_cast<int64_t>(spec_.noise.clock_skew_ms * Chance::BellOf(clock.At(host)));
    tick_offset_ms_ = static_cast<int64_t>(spec_.noise.tick_spread_ms * Chance::UnitOf(MixBits(clock.At(host))));
    for (const CounterOddity& oddity : spec_.oddities) {
      if (oddity.kind == OddityKind::kClockOff && oddity.host == host) {
        skew_ms_ += static_cast<int64_t>(oddity.amount * 1000);
      }
    }
    fast_ticks_ = TicksOf(spec_.interval_ms);
    slow_ticks_ = TicksOf(static_cast<int64_t>(spec_.interval_ms) * kSlowFactor);
  }

  // Of the host being made.
  std::vector<HostTick> TicksOf(int64_t interval_ms) const {
    std::vector<HostTick> ticks;
    ticks.reserve(static_cast<size_t>(end_ms_ / interval_ms + 1));
    size_t window = 0;
    for (int64_t ms = tick_offset_ms_; ms < end_ms_; ms += interval_ms) {
      while (window + 1 < spec_.activity.size() && ms >= spec_.activity[window].end_ms) ++window;
      const ActivityWindow& now = spec_.activity[window];
      ticks.push_back({.ms = ms,
                       .activity = now.activity,
                       .in_burst = InAny(bursts_, ms),
                       .in_gap = InAny(gaps_, ms),
                       .in_restart = InAny(restarts_, ms),
                       .compute_share = ComputeShare(now, ms, interval_ms),
                       .drift = 1 + spec_.noise.common_drift * day_wave_.At(ms)});
    }
    return ticks;
  }

  static bool InAny(const std::vector<Window>& windows, int64_t ms) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& w) { return w.Contains(ms); });
  }

  // What a burst adds.
  static double BurstOf(Metric metric) {
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
    const Triangle<kMachineDriftPeriodMs> own_wave_;
    const std::vector<LevelChange> changes_;
  };

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
  const int64_t end_ms_;
  const Triangle<kCommonDriftPeriodMs> day_wave_;
  const Rarely missing_;
  const Rarely sentinel_;
  const Rarely nan_;
  const Rarely duplicate_;
  const std::vector<LevelChange> changes_;
  // Of the host being made.
  std::vector<LevelChange> host_changes_;
  std::vector<Window> bursts_;
  std::vector<Window> restarts_;
  std::vector<Window> gaps_;
  int64_t skew_ms_ = 0;
  int64_t tick_offset_ms_ = 0;
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
