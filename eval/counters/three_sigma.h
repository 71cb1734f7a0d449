// The baseline that needs no idea: whoever is three standard deviations away from the mean of all machines.
//
// Per metric and tick, over the mean of the last kSmoothSeconds; alarmed when the same unit stays beyond three for
// kPersistSeconds. Below eleven machines nobody can be: the largest z among N is sqrt(N - 1). Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_COUNTERS_THREE_SIGMA_H_
#define LOCKSTEP_EVAL_COUNTERS_THREE_SIGMA_H_

#include <vector>

#include "detector/counters/machine_alarm.h"
#include "detector/model/metric_table.h"

namespace lockstep {

inline constexpr double kSmoothSeconds = 8;
inline constexpr double kPersistSeconds = 60;

// At most one alarm per machine: its first. By alarm_ms.
std::vector<MachineAlarm> DetectByThreeSigma(const MetricTable& table);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_THREE_SIGMA_H_
