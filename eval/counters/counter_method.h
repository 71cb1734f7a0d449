// A method that `lockstep eval counters` compares with others: it looks at one history and names machines.
//
// Pure values; thread-compatible. `detect` is a pure function and may be called from several threads.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_METHOD_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_METHOD_H_

#include <functional>
#include <string>
#include <vector>

#include "detector/counters/machine_alarm.h"
#include "detector/model/metric_table.h"

namespace lockstep {

struct CounterMethod {
  std::string name;
  std::string source;  // who published it, and what of it is ours
  std::function<std::vector<MachineAlarm>(const MetricTable& table)> detect;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_METHOD_H_
