// A recorded counter history, fed to the driver of live samples (counter_driver.h) in the order of time.
//
// What only the whole recording tells is done before: hosts whose clock is elsewhere and single samples of another time
// are left out (history_period.h). Pure; same input, same output.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_

#include <vector>

#include "detector/counters/case_record.h"
#include "detector/counters/machine_alarm.h"
#include "detector/counters/peer_detector.h"
#include "detector/model/metric_table.h"

namespace lockstep {

CounterHistory JudgeHistory(const MetricTable& table, const PeerOptions& options);

// Machines that stand out and devices that rules call broken, in the order of alarm_ms, as a live detector would have
// raised them: alarm_ms is the data time by which everything that the alarm needs had been sampled. Cost: O(samples).
// Memory: that of the driver, and 16 bytes per series.
std::vector<MachineAlarm> DetectMachines(const MetricTable& table, const PeerOptions& options);

// The accusations among them: what rules call broken, and machines that stand out while the job is degraded, from when
// both were known. What stands out while the job goes on as usual is none.
std::vector<MachineAlarm> AccuseMachines(const MetricTable& table, const PeerOptions& options);

// metric_name of an alarm that no metric raised, but the lack of all of them.
inline constexpr char kSilenceName[] = "silence";

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_
