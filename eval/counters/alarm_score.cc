#include "eval/counters/alarm_score.h"

#include <algorithm>
#include <set>

namespace lockstep {

int64_t AlarmScore::found() const {
  return std::count_if(faults.begin(), faults.end(), [](const FaultScore& fault) { return fault.found; });
}

AlarmScore ScoreAlarms(absl::Span<const MachineAlarm> alarms, absl::Span<const CounterFault> faults) {
  std::vector<MachineAlarm> in_time(alarms.begin(), alarms.end());
  std::stable_sort(in_time.begin(), in_time.end(),
                   [](const MachineAlarm& a, const MachineAlarm& b) { return a.alarm_ms < b.alarm_ms; });
  AlarmScore score;
  for (const CounterFault& fault : faults) {
    score.faults.push_back({.delay_seconds = static_cast<double>(fault.end_ms - fault.begin_ms) / 1000});
  }
  std::set<int32_t> found, accused;
  for (const MachineAlarm& alarm : in_time) {
    bool right = false;
    for (size_t i = 0; i < faults.size(); ++i) {
      const CounterFault& fault = faults[i];
      if (fault.host != alarm.host || alarm.alarm_ms < fault.begin_ms || alarm.alarm_ms > fault.end_ms) continue;
      right = true;
      found.insert(alarm.host);
      if (score.faults[i].found) continue;
      score.faults[i] = {.found = true, .delay_seconds = static_cast<double>(alarm.alarm_ms - fault.begin_ms) / 1000};
    }
    if (right || found.count(alarm.host) > 0 || !accused.insert(alarm.host).second) continue;
    score.false_alarms.push_back(alarm);
  }
  score.false_accusations = static_cast<int64_t>(score.false_alarms.size());
  return score;
}

}  // namespace lockstep
