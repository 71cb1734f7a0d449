// What alarms got right and wrong about a history whose faults are known, counted as Minder counts (arXiv 2411.01791).
//
// An alarm is right only if its machine has a fault and the alarm falls inside the interval of that fault. Of several
// alarms about one machine the first right one counts, and what follows it is neither right nor wrong; every machine
// that is alarmed without one is one false accusation, however often it is repeated: an alarm about the right machine
// before its fault began is false, and the fault is then still to be found. Pure functions and values;
// thread-compatible.

#ifndef LOCKSTEP_EVAL_COUNTERS_ALARM_SCORE_H_
#define LOCKSTEP_EVAL_COUNTERS_ALARM_SCORE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/counters/machine_alarm.h"
#include "sim/counters/counter_spec.h"

namespace lockstep {

struct FaultScore {
  bool found = false;
  double delay_seconds = 0;  // from onset to alarm; of a fault that was not found, all of its length
};

struct AlarmScore {
  std::vector<FaultScore> faults;          // as given
  int64_t false_accusations = 0;           // machines
  std::vector<MachineAlarm> false_alarms;  // the first of each of them

  int64_t found() const;
};

// `alarms` in any order. Faults of one machine must not overlap.
AlarmScore ScoreAlarms(absl::Span<const MachineAlarm> alarms, absl::Span<const CounterFault> faults);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_ALARM_SCORE_H_
