// Histories of counters for tests: a job in steps of ten seconds, without anything untidy, and what may happen to it.
//
// One GPU and NIC per host, a sample of each metric per second, kSeconds long. Depends on the seed alone.

#ifndef LOCKSTEP_DETECTOR_TESTING_COUNTER_JOB_H_
#define LOCKSTEP_DETECTOR_TESTING_COUNTER_JOB_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "base/metric_catalog.h"
#include "detector/counters/machine_alarm.h"
#include "detector/model/metric_table.h"

namespace lockstep {

inline constexpr int kSeconds = 600;
inline constexpr int kOnset = 300;              // of whatever happens
inline constexpr int64_t kStartMs = 1'000'000;  // of the first sample

// Changes the value of a host at a second.
using Twist = std::function<double(int host, int second, Metric metric, double value)>;

double Unchanged(int host, int second, Metric metric, double value);

// Power, traffic and CPU.
MetricTable Job(int hosts, uint64_t seed, const Twist& twist = Unchanged);

// The same, and GPUs that are busy all the time.
MetricTable BusyJob(int hosts, uint64_t seed, const Twist& twist);

// From kOnset on, `count` hosts from `first` on do `factor` times as much.
Twist Scale(int first, int count, Metric metric, double factor);

// The whole job works less from kOnset on, beside what `twist` does.
Twist Slower(const Twist& twist);

// From kOnset + 2 on all spin without work; `stops` says from when on the NIC of a host sends nothing.
Twist Hangs(const std::function<int(int host)>& stops);

// Each host once, rising.
std::vector<int32_t> Accused(const std::vector<MachineAlarm>& alarms);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_COUNTER_JOB_H_
