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
double Triangle(int64_t ms, int64_t period_ms, double phase) {
  const int64_t shifted_ms = ms + static_cast<int64_t>(phase * static_cast<double>(period_ms));
  const double turn = static_cast<double>(shifted_ms % period_ms) / static_cast<double>(period_ms);
  return turn < 0.5 ? 4 * turn - 1 : 3 - 4 * turn;
}

class Simulation {
 public:
  Simulation(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed)
      : spec_(spec),
        faults_(faults),
        seed_(seed),
        end_ms_(spec.activity.empty() ? 0 : spec.activity.back().end_ms),
        day_phase_(Chance(seed, ChanceUse::kCounter, kHosts).Unit(~uint64_t{0})),
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
  }

  static bool InAny(const std::vector<Window>& windows, int64_t ms) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& w) { return w.Contains(ms); });
  }

  double Burst(Metric metric, int64_t ms) const {
    const double height = metric == Metric::kHostCpuBusyRatio           ? kBurstCpu
                          : metric == Metric::kHostPressureCpuSomeRatio ? kBurstPressure
                                                                        : 0;
    return height > 0 && InAny(bursts_, ms) ? height : 0;
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

  // What one sample of a metric is before anything happens to it on its way.
  double LevelAt(const Waveform& waveform, double own, double own_phase, absl::Span<const LevelChange> changes,
                 int64_t ms, int64_t interval_ms, size_t& window) const {
    while (window + 1 < spec_.activity.size() && ms >= spec_.activity[window].end_ms) ++window;
    double value = CommonLevel(waveform, spec_.activity[window], ms, interval_ms) * own;
    if (waveform.jitter > 0) {
      value *= 1 + spec_.noise.common_drift * Triangle(ms, kCommonDriftPeriodMs, day_phase_);
      value *= 1 + spec_.noise.machine_drift * own_phase * Triangle(ms, kMachineDriftPeriodMs, own_phase);
    }
    return Changed(value + Burst(waveform.metric, ms), changes, ms);
  }

  MetricSeries Series(int32_t host, int32_t device, const Waveform& waveform) const {
    const MetricInfo* const info = FindMetric(waveform.metric);
    CHECK(info != nullptr);
    MetricSeries series{.host = host,
                        .device = CounterDeviceName(waveform.device, device),
                        .name = std::string(info->name),
                        .metric = waveform.metric};
    const CounterNoise& noise = spec_.noise;
    const uint64_t place = (static_cast<uint64_t>(host) << 32) | (static_cast<uint64_t>(device) << 16) |
                           static_cast<uint64_t>(waveform.metric);
    const Chance samples(seed_, ChanceUse::kCounter, kSamples, place);
    const Chance accidents(seed_, ChanceUse::kCounter, kAccidents, place);
    const bool exact = waveform.jitter == 0;
    const double own = exact ? 1 : 1 + noise.machine_offset * Chance::BellOf(samples.At(~uint64_t{0}));
    const double own_phase = samples.Unit(~uint64_t{2});
    const std::vector<LevelChange> changes = ChangesOn(host_changes_, host, device, waveform.metric);
    const bool counter = info->kind == MetricKind::kCounter;
    const int64_t interval_ms = static_cast<int64_t>(spec_.interval_ms) * (waveform.slow ? kSlowFactor : 1);
    series.time_ms.reserve(static_cast<size_t>(end_ms_ / interval_ms + 1));
    series.value.reserve(static_cast<size_t>(end_ms_ / interval_ms + 1));
    Jitter jitter(noise, waveform);
    double total = counter ? kInitialCount * samples.Unit(~uint64_t{1}) : 0;
    size_t window = 0;
    uint64_t index = 0;
    for (int64_t ms = tick_offset_ms_; ms < end_ms_; ms += interval_ms, ++index) {
      double value = LevelAt(waveform, own, own_phase, changes, ms, interval_ms, window);
      if (!exact) value *= jitter.FactorOf(samples.At(index));
      if (waveform.most > 0) value = std::min(value, waveform.most);
      if (counter && InAny(restarts_, ms)) total = 0;
      total += value * static_cast<double>(interval_ms) / 1000;
      Report(waveform, counter ? total : value, counter, ms, accidents.At(index), &series);
    }
    return series;
  }

  // Appends the sample, or what becomes of it on its way.
  void Report(const Waveform& waveform, double value, bool counter, int64_t ms, uint64_t accident,
              MetricSeries* series) const {
    const CounterNoise& noise = spec_.noise;
    if (Chance::UnitOf(accident) < noise.missing_share || InAny(gaps_, ms)) return;
    const uint64_t first = MixBits(accident), second = MixBits(accident + 1);
    // Counters count whole things.
    double shown = counter ? static_cast<double>(static_cast<int64_t>(value)) : value;
    if (waveform.device == CounterDevice::kGpu && Chance::UnitOf(MixBits(first)) < noise.sentinel_share) {
      shown = kBlankSentinel;
    }
    if (Chance::UnitOf(first) < noise.nan_share) shown = std::numeric_limits<double>::quiet_NaN();
    const int copies = Chance::UnitOf(second) < noise.duplicate_share ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      series->time_ms.push_back(ms + skew_ms_);
      series->value.push_back(shown);
    }
  }

  const CounterSpec& spec_;
  const absl::Span<const CounterFault> faults_;
  const uint64_t seed_;
  const int64_t end_ms_;
  const double day_phase_;
  const std::vector<LevelChange> changes_;
  // Of the host being made.
  std::vector<LevelChange> host_changes_;
  std::vector<Window> bursts_;
  std::vector<Window> restarts_;
  std::vector<Window> gaps_;
  int64_t skew_ms_ = 0;
  int64_t tick_offset_ms_ = 0;
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
