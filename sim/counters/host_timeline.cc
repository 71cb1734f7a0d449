#include "sim/counters/host_timeline.h"

#include <algorithm>
#include <cstddef>

#include "sim/chance.h"
#include "sim/counters/waveform.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

// Families of draws; counter_simulation.cc says whose the others are.
enum Family : uint64_t { kBursts = 1, kGaps = 2, kHosts = 4, kRestarts = 8 };

constexpr int64_t kMsPerHour = 3'600'000;

}  // namespace

HostTimeline::HostTimeline(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed, int32_t host)
    : spec_(spec),
      seed_(seed),
      host_(host),
      end_ms_(spec.activity.empty() ? 0 : spec.activity.back().end_ms),
      day_wave_(Chance(seed, ChanceUse::kCounter, kHosts).Unit(~uint64_t{0})) {
  bursts_ = DrawWindows(kBursts, spec.noise.burst_per_hour, spec.noise.burst_seconds);
  restarts_ = DrawWindows(kRestarts, spec.noise.restart_per_hour, kRestartGapSeconds);
  gaps_ = DrawWindows(kGaps, spec.noise.gap_per_hour, spec.noise.gap_seconds);
  gaps_.insert(gaps_.end(), restarts_.begin(), restarts_.end());
  for (const CounterFault& fault : faults) {
    if (fault.kind == FaultKind::kMachineUnreachable && fault.host == host) {
      gaps_.push_back({fault.begin_ms, fault.end_ms});
    }
  }
  const Chance clock(seed, ChanceUse::kCounter, kHosts);
  skew_ms_ = static_cast<int64_t>(spec.noise.clock_skew_ms * Chance::BellOf(clock.At(host)));
  tick_offset_ms_ = static_cast<int64_t>(spec.noise.tick_spread_ms * Chance::UnitOf(MixBits(clock.At(host))));
  for (const CounterOddity& oddity : spec.oddities) {
    if (oddity.kind == OddityKind::kClockOff && oddity.host == host) {
      skew_ms_ += static_cast<int64_t>(oddity.amount * 1000);
    }
  }
}

// Drawn per slot of a minute.
std::vector<HostTimeline::Window> HostTimeline::DrawWindows(uint64_t family, double per_hour, double seconds) const {
  constexpr int64_t kSlotMs = 60'000;
  const Chance chance(seed_, ChanceUse::kCounter, family, host_);
  std::vector<Window> windows;
  for (int64_t slot = 0; slot * kSlotMs < end_ms_; ++slot) {
    if (chance.Unit(2 * slot) >= per_hour * kSlotMs / kMsPerHour) continue;
    const int64_t begin_ms = slot * kSlotMs + static_cast<int64_t>(chance.Unit(2 * slot + 1) * kSlotMs);
    windows.push_back({begin_ms, begin_ms + static_cast<int64_t>(seconds * 1000)});
  }
  return windows;
}

bool HostTimeline::InAny(const std::vector<Window>& windows, int64_t ms) {
  return std::any_of(windows.begin(), windows.end(), [&](const Window& w) { return w.Contains(ms); });
}

std::vector<HostTick> HostTimeline::TicksEvery(int64_t interval_ms) const {
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

}  // namespace lockstep
