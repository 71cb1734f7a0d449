// A whole counter history judged as a live detector would have: tick by tick, using nothing newer than each moment.
//
// Pure; same input, same output.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/counters/machine_alarm.h"
#include "detector/counters/metric_grid.h"
#include "detector/counters/metric_table.h"
#include "detector/counters/named_sign.h"
#include "detector/counters/peer_detector.h"
#include "detector/events/event_judge.h"

namespace lockstep {

struct HistoryCase {
  int32_t host = -1;
  CaseKind kind = CaseKind::kAlarm;
  double score = 0;
  int64_t onset_ms = 0;
  int64_t alarm_ms = 0;  // when it was first known
  int64_t last_ms = 0;   // when it last held
  // While it held the job was hurt, or, of an alarm that had just been raised, seemed slower.
  bool job_hurt = false;
  int64_t hurt_ms = 0;           // when both were first known
  double job_loss = 0;           // largest while the job was hurt; see JobActivity::loss
  std::vector<NamedSign> signs;  // as of the moment at which the evidence was strongest
};

// So many machines went the same way that they have a common cause; none of them is among the cases for it.
struct HistoryShift {
  std::vector<int32_t> hosts;  // when they were the most
  NamedSign strongest;
  int32_t strongest_host = -1;
  int64_t onset_ms = 0;
  int64_t last_ms = 0;
  bool job_hurt = false;
  double job_loss = 0;
};

struct HistoryFinding {
  HardwareFinding finding;
  int32_t host = -1;
  Metric metric = Metric::kUnspecified;
  int64_t first_ms = 0;
};

struct CounterHistory {
  std::vector<HistoryCase> cases;        // by alarm_ms, then host
  std::vector<HistoryShift> shifts;      // in the order in which they were seen
  std::vector<HistoryFinding> findings;  // of rules, by first_ms
  GridLosses losses;
  std::vector<std::string> not_looked_at;  // areas of metrics that the history does not hold, by name
  int32_t machines = 0;                    // that could be compared
  bool activity_known = false;             // whether "the job is hurt" could be told at all
  bool hurt = false;                       // the job was, or seemed to be while a machine stood out, at least once
  bool hurt_at_end = false;
  bool stuck_at_end = false;  // everything stands while GPUs are busy
  double loss = 0;            // largest while it was hurt
  bool common_cause = false;  // signs were set aside because too many machines showed them at once
  int64_t start_ms = 0;
  int64_t end_ms = 0;
};

CounterHistory JudgeHistory(const MetricTable& table, const PeerOptions& options);

// Machines that stand out and devices that rules call broken, in the order of alarm_ms, as a live detector would have
// raised them: alarm_ms is the data time by which everything that the alarm needs had been sampled. Cost: O(samples).
// Memory: that of the grid.
std::vector<MachineAlarm> DetectMachines(const MetricTable& table, const PeerOptions& options);

// The accusations among them: what rules call broken, and machines that stand out while the job suffers, from when both
// were known. What stands out while the job goes on as usual is none.
std::vector<MachineAlarm> AccuseMachines(const MetricTable& table, const PeerOptions& options);

// metric_name of an alarm that no metric raised, but the lack of all of them.
inline constexpr char kSilenceName[] = "silence";

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_HISTORY_H_
