#include "detector/counters/counter_stream.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "detector/counters/metric_grid.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr double kMostUnits = 0.8;  // of those of the tick before end a tick
constexpr int64_t kPatience = 2;    // usual intervals, if they do not
constexpr int64_t kFirstIntervalNs = kNanosPerSecond;
constexpr double kIntervalWeight = 0.1;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

PeerOptions DetectorOptions(const CounterStreamOptions& options) {
  PeerOptions peers;
  peers.max_units = options.max_series;
  peers.silent_ms = peers.silent_when_stuck_ms = kNever;
  return peers;
}

}  // namespace

CounterStream::CounterStream(const CounterStreamOptions& options)
    : options_(options), detector_(DetectorOptions(options)) {}

void CounterStream::Observe(int32_t host_slot, const MetricSample& sample, int64_t received_ns) {
  const MetricInfo* const info = FindMetric(sample.metric);
  if (info == nullptr || absl::StartsWith(sample.device, "pid:")) return;
  if (!std::isfinite(sample.value) || IsBlankSentinel(sample.value)) {
    ++not_usable_;
    return;
  }
  Track& track = tracks_[sample.metric];
  if (track.ended_ns == 0) {
    track.watch = detector_.Watch(info->name, sample.metric, 1);
    track.is_rate = info->kind == MetricKind::kCounter;
    track.ended_ns = received_ns;
    track.interval_ns = kFirstIntervalNs;
  }
  if (track.watch < 0) return;
  const auto known = track.row_of.find({host_slot, sample.device});
  if (known == track.row_of.end()) {
    if (detector_.AddUnit(track.watch, host_slot, sample.device) < 0) {
      ++refused_;
      return;
    }
    track.row_of.emplace(std::pair(host_slot, sample.device), track.rows.size());
    track.rows.push_back({sample.host_ns, sample.value});
    track.tick.push_back(kUnknown);
    if (!track.is_rate) {
      track.tick.back() = static_cast<float>(sample.value);
      ++track.fresh;
    }
    return;
  }
  Row& row = track.rows[known->second];
  const double seconds = static_cast<double>(sample.host_ns - row.host_ns) / kNanosPerSecond;
  if (seconds <= 0) return;
  const double growth = sample.value - row.value;
  row = {sample.host_ns, sample.value};
  if (track.is_rate && growth < 0) {
    ++resets_;
    return;
  }
  float& now = track.tick[known->second];
  track.fresh += std::isnan(now) ? 1 : 0;
  now = static_cast<float>(track.is_rate ? growth / seconds : sample.value);
}

bool CounterStream::Due(const Track& track, int64_t watermark_ns) const {
  if (track.watch < 0 || track.fresh == 0 || watermark_ns <= track.ended_ns) return false;
  const bool most = static_cast<double>(track.fresh) >= kMostUnits * static_cast<double>(track.usual);
  return (track.usual > 0 && most) || watermark_ns - track.ended_ns >= kPatience * track.interval_ns;
}

void CounterStream::End(Track* track, int64_t watermark_ns) {
  const int64_t passed_ns = watermark_ns - track->ended_ns;
  track->interval_ns += static_cast<int64_t>(kIntervalWeight * static_cast<double>(passed_ns - track->interval_ns));
  detector_.Step(track->watch, track->tick, watermark_ns / kNanosPerMilli,
                 static_cast<double>(passed_ns) / kNanosPerSecond);
  std::fill(track->tick.begin(), track->tick.end(), kUnknown);
  track->usual = track->fresh;
  track->fresh = 0;
  track->ended_ns = watermark_ns;
}

std::vector<MachineCase> CounterStream::Evaluate(int64_t watermark_ns) {
  std::set<int32_t> hosts;
  for (auto& [metric, track] : tracks_) {
    if (Due(track, watermark_ns)) End(&track, watermark_ns);
    if (static_cast<int>(hosts.size()) >= options_.min_peer_hosts) continue;
    for (const auto& [unit, row] : track.row_of) hosts.insert(unit.first);
  }
  std::vector<MachineCase> cases = detector_.Conclude(watermark_ns / kNanosPerMilli);
  if (static_cast<int>(hosts.size()) < options_.min_peer_hosts) cases.clear();
  return cases;
}

}  // namespace lockstep
