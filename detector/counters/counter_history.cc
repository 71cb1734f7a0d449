#include "detector/counters/counter_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "base/metric_catalog.h"
#include "detector/counters/counter_driver.h"
#include "detector/counters/history_period.h"
#include "detector/model/sample_losses.h"

namespace lockstep {
namespace {

// Series are read side by side in slices of so long: the shortest time between two moments of a metric that is sampled
// once a second, so that the driver sees the order of time.
constexpr int64_t kSliceMs = 250;
constexpr int64_t kAtEnd = std::numeric_limits<int64_t>::max();

// Reads all series of a table at once, and gives their samples to the driver.
class Feeder {
 public:
  Feeder(const MetricTable& table, CounterDriver* driver) : table_(table), driver_(driver), period_(PeriodOf(table)) {
    losses_.misclocked_hosts = period_.misclocked_hosts;
    std::vector<size_t> order(table.series.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [&table](size_t i) {
      const MetricSeries& series = table.series[i];
      return std::tie(series.host, series.device, series.name);
    };
    std::stable_sort(order.begin(), order.end(), [&key](size_t a, size_t b) { return key(a) < key(b); });
    for (size_t i = 0; i < order.size(); ++i) {
      const MetricSeries& series = table.series[order[i]];
      if (series.time_ms.empty() || period_.IsMisclocked(series.host)) {
        losses_.samples += series.time_ms.size();
      } else if (i > 0 && key(order[i - 1]) == key(order[i])) {
        losses_.samples += series.time_ms.size();
        ++losses_.repeated_series;
      } else {
        cursors_.push_back({&series});
        next_ms_.push_back(NextMs(cursors_.back()));
      }
    }
  }

  void Feed() {
    while (true) {
      const int64_t first_ms = next_ms_.empty() ? kAtEnd : *std::min_element(next_ms_.begin(), next_ms_.end());
      if (first_ms == kAtEnd) return;
      const int64_t end_ms = (first_ms / kSliceMs + 1) * kSliceMs;
      for (size_t i = 0; i < cursors_.size(); ++i) {
        if (next_ms_[i] < end_ms) next_ms_[i] = FeedUntil(end_ms, &cursors_[i]);
      }
    }
  }

  const SampleLosses& losses() const { return losses_; }

 private:
  static constexpr int32_t kNotAdded = -2;  // no id yet
  struct Cursor {
    const MetricSeries* series;
    size_t at = 0;
    int32_t id = kNotAdded;
  };

  static int64_t NextMs(const Cursor& cursor) {
    return cursor.at < cursor.series->time_ms.size() ? cursor.series->time_ms[cursor.at] : kAtEnd;
  }

  // The time of the first sample that is left.
  int64_t FeedUntil(int64_t end_ms, Cursor* cursor) {
    const MetricSeries& series = *cursor->series;
    if (cursor->id == kNotAdded) {
      cursor->id = driver_->AddSeries({.host = series.host,
                                       .host_name = table_.hosts[static_cast<size_t>(series.host)],
                                       .device = series.device,
                                       .metric_name = series.name,
                                       .metric = series.metric});
    }
    for (; NextMs(*cursor) < end_ms; ++cursor->at) {
      const int64_t time_ms = series.time_ms[cursor->at];
      if (cursor->id < 0 || period_.IsFarOff(time_ms)) {
        ++losses_.samples;
        losses_.far_off += cursor->id < 0 ? 0 : 1;
        continue;
      }
      driver_->Observe(cursor->id, time_ms, series.value[cursor->at]);
    }
    return NextMs(*cursor);
  }

  const MetricTable& table_;
  CounterDriver* const driver_;
  const HistoryPeriod period_;
  SampleLosses losses_;  // of what the driver never saw
  std::vector<Cursor> cursors_;
  std::vector<int64_t> next_ms_;  // by cursor
};

std::vector<MachineAlarm> AlarmsOf(const CounterHistory& history, const MetricTable& table, const PeerOptions& options,
                                   bool must_degrade) {
  std::vector<MachineAlarm> alarms;
  for (const HistoryCase& found : history.cases) {
    if (found.kind == CaseKind::kSoft || (must_degrade && !found.job_degraded)) continue;
    MachineAlarm& alarm = alarms.emplace_back();
    alarm.host = found.host;
    alarm.onset_ms = found.onset_ms;
    alarm.alarm_ms = must_degrade ? found.degraded_ms : found.alarm_ms;
    alarm.score = found.score;
    alarm.metric_name = found.signs.empty() ? kSilenceName : found.signs.front().metric_name;
    alarm.device = found.signs.empty() ? "" : found.signs.front().device;
  }
  for (const HistoryFinding& found : history.findings) {
    if (!found.finding.hard || found.host < 0) continue;
    const MetricInfo* const info = FindMetric(found.finding.metric);
    alarms.push_back({.host = found.host,
                      .device = found.finding.device,
                      .metric_name = info == nullptr ? found.finding.sign.meaning : std::string(info->name),
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
  CounterDriver driver(options);
  Feeder feeder(table, &driver);
  feeder.Feed();
  driver.Finish();
  CounterHistory history = driver.TakeHistory();
  history.losses.samples += feeder.losses().samples;
  history.losses.far_off += feeder.losses().far_off;
  history.losses.repeated_series += feeder.losses().repeated_series;
  history.losses.misclocked_hosts = feeder.losses().misclocked_hosts;
  std::map<std::string, int32_t> host_index;
  for (size_t i = 0; i < table.hosts.size(); ++i) host_index[table.hosts[i]] = static_cast<int32_t>(i);
  for (HistoryFinding& found : history.findings) {
    const auto host = host_index.find(found.finding.host);
    if (host != host_index.end()) found.host = host->second;
  }
  return history;
}

std::vector<MachineAlarm> DetectMachines(const MetricTable& table, const PeerOptions& options) {
  return AlarmsOf(JudgeHistory(table, options), table, options, /*must_degrade=*/false);
}

std::vector<MachineAlarm> AccuseMachines(const MetricTable& table, const PeerOptions& options) {
  return AlarmsOf(JudgeHistory(table, options), table, options, /*must_degrade=*/true);
}

}  // namespace lockstep
