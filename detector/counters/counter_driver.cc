#include "detector/counters/counter_driver.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "base/check.h"
#include "detector/counters/metric_traits.h"
#include "detector/hardware/counter_rules.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNoteEveryMs = 60'000;  // findings of rules, which stay for ten times as long
constexpr int64_t kMomentsPerTick = 4;    // of the fastest metric: so often it is asked what is new

bool HasRule(Metric metric) {
  const auto rules = CounterRules();
  const auto ceilings = CeilingRules();
  return metric == Metric::kGpuUtilizationRatio ||
         std::any_of(rules.begin(), rules.end(), [&](const CounterRule& rule) { return rule.metric == metric; }) ||
         std::any_of(ceilings.begin(), ceilings.end(),
                     [&](const CeilingRule& rule) { return rule.metric == metric || rule.ceiling == metric; });
}

bool IsCeiling(Metric metric) {
  const auto ceilings = CeilingRules();
  return std::any_of(ceilings.begin(), ceilings.end(),
                     [metric](const CeilingRule& rule) { return rule.ceiling == metric; });
}

bool IsCounter(Metric metric) {
  const MetricInfo* const info = FindMetric(metric);
  return info != nullptr && info->kind == MetricKind::kCounter;
}

}  // namespace

CounterDriver::CounterDriver(const PeerOptions& options) : options_(options), detector_(options) {}

int32_t CounterDriver::AddSeries(const SeriesName& name) {
  CHECK(name.host >= 0);
  if (absl::StartsWith(name.device, "pid:")) {
    ++losses_.process_series;
    return -1;
  }
  if (series_.size() >= static_cast<size_t>(options_.max_units)) {
    ++losses_.over_limit;
    return -1;
  }
  Series& series = series_.emplace_back();
  series.host = name.host;
  series.metric = name.metric;
  if (HasRule(name.metric)) {
    series.ruled = static_cast<int32_t>(ruled_.size());
    ruled_.push_back({.host = name.host_name, .device = name.device, .is_counter = IsCounter(name.metric)});
    has_ceilings_ = has_ceilings_ || IsCeiling(name.metric);
  }
  if (!name.compared) return static_cast<int32_t>(series_.size()) - 1;
  const auto host = static_cast<size_t>(name.host);
  if (host >= newest_ms_.size()) newest_ms_.resize(host + 1, kNone);
  series.compared = true;
  ++compared_;
  const bool is_ignored = TraitsOf(name.metric, name.metric_name).family == MetricFamily::kIgnored;
  auto track = track_of_.find(name.metric_name);
  if (track == track_of_.end() && !is_ignored && tracks_.size() < static_cast<size_t>(options_.max_metrics)) {
    track = track_of_.emplace(name.metric_name, static_cast<int32_t>(tracks_.size())).first;
    tracks_.push_back({.metric = name.metric, .raster = MetricRaster(CountsUp(name.metric, name.metric_name))});
    if (zero_ms_ != kNone) tracks_.back().raster.SetZero(zero_ms_);
  }
  if (track != track_of_.end()) {
    series.track = track->second;
    series.row = tracks_[static_cast<size_t>(series.track)].raster.AddRow(name.host, name.device);
  } else if (!is_ignored) {
    ++losses_.over_limit;
  }
  return static_cast<int32_t>(series_.size()) - 1;
}

void CounterDriver::Observe(int32_t index, int64_t time_ms, double value) {
  ++losses_.samples;
  if (!std::isfinite(value)) {
    ++losses_.not_finite;
    return;
  }
  if (IsBlankSentinel(value)) {
    ++losses_.blank;
    return;
  }
  const Series& series = series_[static_cast<size_t>(index)];
  if (series.ruled >= 0) Rule(series, time_ms, value);
  if (series.compared) Arrive(series.host, time_ms);
  if (series.track >= 0)
    tracks_[static_cast<size_t>(series.track)].raster.Observe(series.row, time_ms, value, &losses_);
}

// Notes that the host has delivered so far, and concludes whenever time has passed a moment.
void CounterDriver::Arrive(int32_t host, int64_t time_ms) {
  int64_t& newest_ms = newest_ms_[static_cast<size_t>(host)];
  if (newest_ms == kNone) ++hosts_;
  newest_ms = std::max(newest_ms, time_ms);
  if (zero_ms_ == kNone) {
    zero_ms_ = now_ms_ = time_ms;
    for (Track& track : tracks_) track.raster.SetZero(time_ms);
  }
  if (time_ms <= now_ms_) return;
  const bool new_moment = MomentAfter(time_ms) != MomentAfter(now_ms_);
  now_ms_ = time_ms;
  if (new_moment) Process(CompleteMs());
}

// All samples with earlier times have come, but for those that are too late.
int64_t CounterDriver::CompleteMs() const {
  int64_t complete_ms = now_ms_;
  for (const int64_t newest_ms : newest_ms_) {
    if (newest_ms != kNone && newest_ms >= now_ms_ - kMostDelayMs) complete_ms = std::min(complete_ms, newest_ms);
  }
  return complete_ms;
}

int64_t CounterDriver::MomentAfter(int64_t time_ms) const {
  return (time_ms + moment_ms_ - 1) / moment_ms_ * moment_ms_;
}

int64_t CounterDriver::DueMs(const Track& track) const {
  const bool is_idle = track.watch < 0 || (finished_ && !track.raster.HasOpenTick());
  const int64_t due_ms = is_idle ? MetricRaster::kNever : track.raster.DueMs();
  return due_ms == MetricRaster::kNever ? due_ms : MomentAfter(due_ms);
}

void CounterDriver::Register(const std::string& name, Track* track) {
  const MetricRaster& raster = track->raster;
  if (!raster.started()) return;
  if (track->watch < 0) {
    track->watch = detector_.Watch(name, track->metric, static_cast<double>(raster.tick_ms()) / 1000);
    moment_ms_ = std::min(moment_ms_, std::max<int64_t>(1, raster.tick_ms() / kMomentsPerTick));
  }
  for (; track->units < raster.units().size(); ++track->units) {
    const MetricRaster::Unit& unit = raster.units()[track->units];
    CHECK(detector_.AddUnit(track->watch, unit.host, unit.device) >= 0);
  }
}

// The budget of false alarms is divided by all series that there are.
void CounterDriver::CountSeries() {
  if (compared_ == counted_series_ && hosts_ == counted_hosts_) return;
  counted_series_ = compared_;
  counted_hosts_ = hosts_;
  detector_.SetSeriesPerMachine(std::max(1.0, static_cast<double>(compared_) / std::max(1, hosts_)));
}

void CounterDriver::Process(int64_t complete_ms) {
  for (auto& [name, index] : track_of_) Register(name, &tracks_[static_cast<size_t>(index)]);
  CountSeries();
  while (true) {
    int64_t due_ms = MetricRaster::kNever;
    for (const Track& track : tracks_) due_ms = std::min(due_ms, DueMs(track));
    if (due_ms >= complete_ms) return;
    // What a metric held back while its interval was learnt is older than what was concluded meanwhile.
    const int64_t now_ms = concluded_ms_ == kNone ? due_ms : std::max(due_ms, concluded_ms_ + moment_ms_);
    StepDue(now_ms, complete_ms);
    record_.Note(detector_.Conclude(now_ms), detector_, now_ms);
    concluded_ms_ = now_ms;
  }
}

void CounterDriver::StepDue(int64_t now_ms, int64_t complete_ms) {
  for (const auto& [name, index] : track_of_) {
    Track& track = tracks_[static_cast<size_t>(index)];
    const double tick_seconds = static_cast<double>(track.raster.tick_ms()) / 1000;
    for (int64_t due_ms = DueMs(track); due_ms <= now_ms && due_ms < complete_ms; due_ms = DueMs(track)) {
      detector_.Step(track.watch, track.raster.TakeTick(), due_ms, tick_seconds);
    }
  }
}

void CounterDriver::Finish() {
  finished_ = true;
  Process(MetricRaster::kNever);
  NoteFindings(now_ms_);
}

void CounterDriver::Rule(const Series& series, int64_t time_ms, double value) {
  // Load is asked for only where a link has a ceiling.
  if (series.metric == Metric::kGpuUtilizationRatio && !has_ceilings_) return;
  Ruled& ruled = ruled_[static_cast<size_t>(series.ruled)];
  const auto judge = [&](int64_t at_ms, double what) {
    const int64_t at_ns = at_ms * kNanosPerMilli;
    rules_.Observe(ruled.host, {.device = ruled.device, .metric = series.metric, .host_ns = at_ns, .value = what},
                   at_ns);
  };
  const bool is_first = ruled.newest_ms == kNone;
  if (!is_first && time_ms <= ruled.newest_ms) return;
  const int64_t before_ms = std::exchange(ruled.newest_ms, time_ms);
  const double before = std::exchange(ruled.newest, value);
  if (ruled.is_counter && !ruled.has_moved) {
    if (is_first || value == before) return;
    ruled.has_moved = true;
    judge(before_ms, before);
  }
  if (next_note_ms_ == kNone) next_note_ms_ = time_ms + kNoteEveryMs;
  if (time_ms >= next_note_ms_) {
    NoteFindings(time_ms);
    next_note_ms_ = time_ms + kNoteEveryMs;
  }
  judge(time_ms, value);
}

std::vector<HardwareFinding> CounterDriver::Findings(int64_t now_ms) const {
  return rules_.Findings(now_ms * kNanosPerMilli);
}

void CounterDriver::NoteFindings(int64_t now_ms) {
  if (now_ms == kNone) return;
  for (const HardwareFinding& finding : Findings(now_ms)) {
    const auto key = std::make_tuple(finding.host, finding.device, finding.sign, finding.first_ns);
    if (found_.size() >= EventJudge::kMaxFindings && !found_.contains(key)) continue;
    found_.insert_or_assign(key, HistoryFinding{finding, -1, finding.first_ns / kNanosPerMilli});
  }
}

CounterHistory CounterDriver::TakeHistory() {
  CounterHistory history = record_.Take();
  history.losses = losses_;
  history.machines = hosts_;
  for (auto& [key, finding] : found_) history.findings.push_back(std::move(finding));
  std::stable_sort(history.findings.begin(), history.findings.end(),
                   [](const HistoryFinding& a, const HistoryFinding& b) { return a.first_ms < b.first_ms; });
  std::set<Metric> metrics;
  for (const Series& series : series_) metrics.insert(series.metric);
  for (const MetricArea& area : MetricAreas()) {
    const bool held = std::any_of(metrics.begin(), metrics.end(), [&](Metric metric) { return area.holds(metric); });
    if (!held) history.not_looked_at.emplace_back(area.name);
  }
  return history;
}

}  // namespace lockstep
