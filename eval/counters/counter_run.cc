#include "eval/counters/counter_run.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/suites/ordered_work.h"

namespace lockstep {
namespace {

constexpr size_t kAlarmsShown = 4;
constexpr double kMsPerDay = 86'400'000;

std::string AnswerText(const MetricTable& table, const std::vector<MachineAlarm>& alarms) {
  if (alarms.empty()) return "silence";
  std::string text;
  for (size_t i = 0; i < std::min(kAlarmsShown, alarms.size()); ++i) {
    const MachineAlarm& alarm = alarms[i];
    const auto host = static_cast<size_t>(alarm.host);
    absl::StrAppend(&text, i == 0 ? "" : "; ", host < table.hosts.size() ? table.hosts[host] : "?");
    if (!alarm.device.empty()) absl::StrAppend(&text, " ", alarm.device);
    absl::StrAppendFormat(&text, " %s at %.1f s (score %.3g)", alarm.metric_name,
                          static_cast<double>(alarm.alarm_ms) / 1000, alarm.score);
  }
  if (alarms.size() > kAlarmsShown) absl::StrAppend(&text, "; ... (", alarms.size(), " alarms)");
  return text;
}

}  // namespace

CounterOutcome RunCounterEpisode(const CounterSuite& suite, uint64_t number, absl::Span<const CounterMethod> methods,
                                 const Clock& clock) {
  const CounterPlan plan = CounterPlanOf(suite, number);
  CounterOutcome outcome{.number = number, .description = DescribeCounterPlan(plan), .row = plan.row};
  outcome.hosts = plan.spec.hosts;
  const int64_t end_ms = plan.spec.activity.empty() ? 0 : plan.spec.activity.back().end_ms;
  outcome.machine_days = static_cast<double>(plan.spec.hosts) * static_cast<double>(end_ms) / kMsPerDay;
  const int64_t start_ns = clock.MonotonicNanos();
  const MetricTable table = SimulateCounterPlan(plan);
  outcome.simulate_ns = clock.MonotonicNanos() - start_ns;
  for (const MetricSeries& series : table.series) outcome.samples += static_cast<int64_t>(series.time_ms.size());
  const bool baselines = suite.baseline_every > 0 && number % static_cast<uint64_t>(suite.baseline_every) == 0;
  for (size_t i = 0; i < methods.size(); ++i) {
    outcome.methods.emplace_back();
    if (i > 0 && !baselines) continue;
    MethodOutcome& method = outcome.methods.back();
    method.asked = true;
    const int64_t asked_ns = clock.MonotonicNanos();
    const std::vector<MachineAlarm> alarms = methods[i].detect(table);
    method.detect_ns = clock.MonotonicNanos() - asked_ns;
    method.score = ScoreAlarms(alarms, plan.faults);
    method.answer = AnswerText(table, alarms);
  }
  return outcome;
}

std::vector<CounterOutcome> RunCounterSuite(const CounterSuite& suite, uint64_t first_number, int32_t episodes,
                                            int32_t threads, absl::Span<const CounterMethod> methods,
                                            const Clock& clock, const std::function<void(int32_t done)>& on_done) {
  return OrderedWork<CounterOutcome>::Run(
      episodes, threads, [&](size_t place) { return RunCounterEpisode(suite, first_number + place, methods, clock); },
      on_done);
}

}  // namespace lockstep
