#include "detector/counters/counter_history.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "detector/counters/metric_traits.h"
#include "detector/counters/pace_average.h"
#include "detector/events/counter_rules.h"
#include "detector/input.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kLookEveryMs = 60'000;  // at findings, which stay for much longer
constexpr int64_t kMomentsPerTick = 4;    // of the fastest metric: so often it is asked what is new
// The longest average of a job's pace shows after so long what a machine does to it.
constexpr auto kHarmFollowsMs = static_cast<int64_t>(1000 * PaceAverage::kLongest);

// Plays the columns of all metrics in the order in which they were known.
class Player {
 public:
  Player(const MetricGrid& grid, const PeerOptions& options, int32_t machines)
      : options_(WithBudget(options, grid, machines)), detector_(options_) {
    for (const MetricMatrix& matrix : grid.metrics) {
      const double tick_seconds = static_cast<double>(matrix.tick_ms) / 1000;
      const int32_t watch = detector_.Watch(matrix.name, matrix.metric, tick_seconds);
      if (watch < 0) continue;
      Track track = {&matrix, watch, 0, 0};
      for (const GridUnit& unit : matrix.units) {
        if (detector_.AddUnit(watch, unit.host, unit.device) < 0) break;
        ++track.rows;
      }
      tracks_.push_back(track);
      moment_ms_ = std::min(moment_ms_, std::max<int64_t>(1, matrix.tick_ms / kMomentsPerTick));
    }
  }

  void Play(CounterHistory* history) {
    while (true) {
      int64_t now_ms = std::numeric_limits<int64_t>::max();
      for (const Track& track : tracks_) {
        if (track.column < track.matrix->values.cols()) now_ms = std::min(now_ms, KnownAtMs(track));
      }
      if (now_ms == std::numeric_limits<int64_t>::max()) return;
      if (history->start_ms == 0) history->start_ms = now_ms;
      history->end_ms = now_ms;
      StepAll(now_ms);
      Note(detector_.Conclude(now_ms), now_ms, history);
      history->common_cause = history->common_cause || detector_.common_signs() > 0;
      NoteShifts(now_ms, history);
      NoteJob(now_ms, history);
    }
  }

 private:
  struct Track {
    const MetricMatrix* matrix;
    int32_t watch;
    Eigen::Index column;
    size_t rows;
  };

  static PeerOptions WithBudget(PeerOptions options, const MetricGrid& grid, int32_t machines) {
    size_t units = 0;
    for (const MetricMatrix& matrix : grid.metrics) units += matrix.units.size();
    options.series_per_machine = std::max(1.0, static_cast<double>(units) / std::max(1, machines));
    return options;
  }

  // The moment at which all of the next column was known.
  int64_t KnownAtMs(const Track& track) const {
    const int64_t known_ms = track.matrix->known_ms[static_cast<size_t>(track.column)];
    return (known_ms + moment_ms_ - 1) / moment_ms_ * moment_ms_;
  }

  void StepAll(int64_t now_ms) {
    for (Track& track : tracks_) {
      const MetricMatrix& matrix = *track.matrix;
      if (track.column >= matrix.values.cols() || KnownAtMs(track) > now_ms) continue;
      const float* const column = matrix.values.col(track.column).data();
      detector_.Step(track.watch, {column, track.rows}, now_ms, static_cast<double>(matrix.tick_ms) / 1000);
      ++track.column;
    }
  }

  NamedSign Named(const CounterSign& sign) const { return NameSign(sign, detector_.watch(sign.watch)); }

  std::vector<NamedSign> Named(const MachineCase& found) const {
    std::vector<NamedSign> signs;
    for (const CounterSign& sign : found.signs) signs.push_back(Named(sign));
    return signs;
  }

  void NoteJob(int64_t now_ms, CounterHistory* history) const {
    const JobActivity& activity = detector_.activity();
    history->activity_known = activity.IsKnown();
    history->hurt_at_end = detector_.JobIsHurt();
    history->stuck_at_end = activity.IsHurt(now_ms) && activity.stuck_since_ms() != 0;
    if (!history->hurt_at_end) return;
    history->hurt = true;
    history->loss = std::max(history->loss, activity.loss());
  }

  void Note(const std::vector<MachineCase>& cases, int64_t now_ms, CounterHistory* history) {
    for (const MachineCase& found : cases) {
      const auto key = std::make_tuple(found.host, found.kind, found.since_ms);
      const auto [at, fresh] = known_.emplace(key, history->cases.size());
      if (fresh) history->cases.push_back({.host = found.host, .kind = found.kind, .alarm_ms = now_ms});
      HistoryCase& noted = history->cases[at->second];
      noted.last_ms = now_ms;
      if (Suffers(noted, now_ms)) {
        if (!noted.job_hurt) noted.hurt_ms = now_ms;
        noted.job_hurt = true;
        noted.job_loss = std::max(noted.job_loss, detector_.activity().loss());
        history->hurt = history->hurt || noted.kind == CaseKind::kAlarm;
      }
      if (!fresh && found.score <= noted.score) continue;
      if (fresh || found.onset_ms < noted.onset_ms) noted.onset_ms = found.onset_ms;
      noted.score = found.score;
      noted.signs = Named(found);
    }
  }

  // True when the job does. It takes less to believe that a machine that has just begun to stand out costs the job
  // something than to look for one.
  bool Suffers(const HistoryCase& noted, int64_t now_ms) const {
    const bool is_new = noted.kind == CaseKind::kAlarm && now_ms - noted.alarm_ms <= kHarmFollowsMs;
    return detector_.JobIsHurt() || (is_new && detector_.activity().SeemsSlower());
  }

  void NoteShifts(int64_t now_ms, CounterHistory* history) {
    for (const CommonShift& shift : detector_.common_shifts()) {
      const auto [at, fresh] = shift_of_way_.emplace(std::pair(shift.watch, shift.up), history->shifts.size());
      if (!fresh && now_ms - history->shifts[at->second].last_ms > kTogetherMs) at->second = history->shifts.size();
      if (at->second == history->shifts.size()) history->shifts.push_back({.onset_ms = shift.onset_ms});
      HistoryShift& noted = history->shifts[at->second];
      noted.last_ms = now_ms;
      if (detector_.JobIsHurt()) {
        noted.job_hurt = true;
        noted.job_loss = std::max(noted.job_loss, detector_.activity().loss());
      }
      if (shift.hosts.size() >= noted.hosts.size()) noted.hosts = shift.hosts;
      if (shift.strongest.excursion.share <= noted.strongest.excursion.share) continue;
      noted.strongest = Named(shift.strongest);
      noted.strongest_host = shift.strongest.host;
    }
  }

  PeerOptions options_;
  PeerDetector detector_;
  std::vector<Track> tracks_;
  std::map<std::pair<int32_t, bool>, size_t> shift_of_way_;  // the newest of each way
  int64_t moment_ms_ = 250;
  std::map<std::tuple<int32_t, CaseKind, int64_t>, size_t> known_;
};

bool HasRule(Metric metric) {
  const auto rules = CounterRules();
  const auto ceilings = CeilingRules();
  return metric == Metric::kGpuUtilizationRatio ||
         std::any_of(rules.begin(), rules.end(), [&](const CounterRule& rule) { return rule.metric == metric; }) ||
         std::any_of(ceilings.begin(), ceilings.end(),
                     [&](const CeilingRule& rule) { return rule.metric == metric || rule.ceiling == metric; });
}

struct RuleSample {
  int64_t time_ms;
  const MetricSeries* series;
  size_t index;
};

// Samples that rules are about, in the order of time. Counters that never move say nothing and are left out.
std::vector<RuleSample> SamplesForRules(const MetricTable& table, const std::set<int32_t>& misclocked, bool ceilings) {
  std::vector<RuleSample> samples;
  for (const MetricSeries& series : table.series) {
    if (!HasRule(series.metric) || misclocked.contains(series.host)) continue;
    if (series.metric == Metric::kGpuUtilizationRatio && !ceilings) continue;
    const MetricInfo* const info = FindMetric(series.metric);
    const auto usable = [&](size_t i) { return std::isfinite(series.value[i]) && !IsBlankSentinel(series.value[i]); };
    if (info->kind == MetricKind::kCounter) {
      std::set<double> values;
      for (size_t i = 0; i < series.value.size() && values.size() < 2; ++i) {
        if (usable(i)) values.insert(series.value[i]);
      }
      if (values.size() < 2) continue;
    }
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      if (usable(i)) samples.push_back({series.time_ms[i], &series, i});
    }
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const RuleSample& a, const RuleSample& b) { return a.time_ms < b.time_ms; });
  return samples;
}

Metric MetricOfFinding(const HardwareFinding& finding) {
  for (const CounterRule& rule : CounterRules()) {
    if (absl::EndsWith(finding.reason, rule.says)) return rule.metric;
  }
  return Metric::kUnspecified;
}

void FindByRules(const MetricTable& table, CounterHistory* history) {
  const std::set<int32_t> misclocked(history->losses.misclocked_hosts.begin(), history->losses.misclocked_hosts.end());
  const bool ceilings = std::any_of(table.series.begin(), table.series.end(), [](const MetricSeries& series) {
    return series.metric == Metric::kGpuPcieLinkGenerationMax || series.metric == Metric::kGpuPcieLinkWidthMax;
  });
  const std::vector<RuleSample> samples = SamplesForRules(table, misclocked, ceilings);
  if (samples.empty()) return;
  std::map<std::string, int32_t> host_index;
  for (size_t i = 0; i < table.hosts.size(); ++i) host_index[table.hosts[i]] = static_cast<int32_t>(i);
  EventJudge judge;
  // On a clock that begins at the first sample: the judge's windows know nothing before their 0.
  const int64_t zero_ms = samples.front().time_ms - 1000;
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, HistoryFinding> found;
  const auto look = [&](int64_t now_ns) {
    for (const HardwareFinding& finding : judge.Findings(now_ns)) {
      const auto host = host_index.find(finding.host);
      found[{finding.host, finding.device, finding.reason, finding.first_ns}] = {
          finding, host == host_index.end() ? -1 : host->second, MetricOfFinding(finding),
          zero_ms + finding.first_ns / kNanosPerMilli};
    }
  };
  int64_t next_look_ms = samples.front().time_ms + kLookEveryMs;
  for (const RuleSample& sample : samples) {
    const int64_t now_ns = (sample.time_ms - zero_ms) * kNanosPerMilli;
    if (sample.time_ms >= next_look_ms) {
      look(now_ns);
      next_look_ms = sample.time_ms + kLookEveryMs;
    }
    const MetricSeries& series = *sample.series;
    judge.Observe(
        table.hosts[static_cast<size_t>(series.host)],
        {.device = series.device, .metric = series.metric, .host_ns = now_ns, .value = series.value[sample.index]},
        now_ns);
  }
  look((samples.back().time_ms - zero_ms) * kNanosPerMilli);
  for (auto& [key, finding] : found) history->findings.push_back(std::move(finding));
  std::stable_sort(history->findings.begin(), history->findings.end(),
                   [](const HistoryFinding& a, const HistoryFinding& b) { return a.first_ms < b.first_ms; });
}

std::vector<MachineAlarm> AlarmsOf(const CounterHistory& history, const MetricTable& table, const PeerOptions& options,
                                   bool must_harm) {
  std::vector<MachineAlarm> alarms;
  for (const HistoryCase& found : history.cases) {
    if (found.kind == CaseKind::kSoft || (must_harm && !found.job_hurt)) continue;
    MachineAlarm& alarm = alarms.emplace_back();
    alarm.host = found.host;
    alarm.onset_ms = found.onset_ms;
    alarm.alarm_ms = must_harm ? found.hurt_ms : found.alarm_ms;
    alarm.score = found.score;
    alarm.metric_name = found.signs.empty() ? kSilenceName : found.signs.front().metric_name;
    alarm.device = found.signs.empty() ? "" : found.signs.front().device;
  }
  for (const HistoryFinding& found : history.findings) {
    if (!found.finding.hard || found.host < 0) continue;
    const MetricInfo* const info = FindMetric(found.metric);
    alarms.push_back({.host = found.host,
                      .device = found.finding.device,
                      .metric_name = info == nullptr ? found.finding.reason : std::string(info->name),
                      .onset_ms = found.first_ms,
                      .alarm_ms = found.first_ms,
                      .score = static_cast<double>(found.finding.count)});
  }
  if (options.sabotage_accuse_neighbour) {
    for (MachineAlarm& alarm : alarms) {
      alarm.host = (alarm.host + 1) % std::max<int32_t>(1, static_cast<int32_t>(table.hosts.size()));
    }
  }
  std::stable_sort(alarms.begin(), alarms.end(),
                   [](const MachineAlarm& a, const MachineAlarm& b) { return a.alarm_ms < b.alarm_ms; });
  return alarms;
}

}  // namespace

CounterHistory JudgeHistory(const MetricTable& table, const PeerOptions& options) {
  CounterHistory history;
  const MetricGrid grid = BuildGrid(table, options.grid);
  history.losses = grid.losses;
  std::set<int32_t> hosts;
  for (const MetricMatrix& matrix : grid.metrics) {
    for (const GridUnit& unit : matrix.units) hosts.insert(unit.host);
  }
  history.machines = static_cast<int32_t>(hosts.size());
  for (const MetricArea& area : MetricAreas()) {
    const bool held = std::any_of(grid.metrics.begin(), grid.metrics.end(),
                                  [&](const MetricMatrix& matrix) { return area.holds(matrix.metric); });
    if (!held) history.not_looked_at.emplace_back(area.name);
  }
  Player(grid, options, history.machines).Play(&history);
  FindByRules(table, &history);
  return history;
}

std::vector<MachineAlarm> DetectMachines(const MetricTable& table, const PeerOptions& options) {
  return AlarmsOf(JudgeHistory(table, options), table, options, /*must_harm=*/false);
}

std::vector<MachineAlarm> AccuseMachines(const MetricTable& table, const PeerOptions& options) {
  return AlarmsOf(JudgeHistory(table, options), table, options, /*must_harm=*/true);
}

}  // namespace lockstep
