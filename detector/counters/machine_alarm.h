// What a method that looks only at counters answers: this machine, because of this metric, from then on.
//
// One alarm per machine and cause, in the order of alarm_ms. Both the default detector and Minder with its variants
// answer in this form, so that `lockstep eval counters` scores them alike. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_MACHINE_ALARM_H_
#define LOCKSTEP_DETECTOR_COUNTERS_MACHINE_ALARM_H_

#include <cstdint>
#include <string>

namespace lockstep {

struct MachineAlarm {
  int32_t host = -1;        // index into MetricTable::hosts
  std::string device;       // "" = the host as a whole
  std::string metric_name;  // that deviates most
  int64_t onset_ms = 0;     // estimated, of the table's clock
  int64_t alarm_ms = 0;     // newest sample that was needed: a live detector would have spoken then, not earlier
  double score = 0;         // of the method; comparable only between alarms of one method
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_MACHINE_ALARM_H_
