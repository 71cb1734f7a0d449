// Minder (arXiv 2411.01791, sections 4.1 to 4.4), as far as it is published, and its ablations.
//
// One call looks at the last `pull_ms` of a job. For each metric, in the model's order: samples of all machines are
// aligned, filled and scaled (machine_history.h); each window of 8 ticks, stride 1, of each machine is denoised by the
// metric's LSTM-VAE; a machine's dissimilarity is the sum of its distances to all others; the machine of the greatest
// normal score above the threshold is the window's candidate (normal_score.h). When the same machine stays candidate
// for `continuity_ms`, it is the answer and the call ends; otherwise the next metric is looked at. Calls are made every
// `call_interval_ms`, the last of them at the end of the history. A machine that was answered counts as replaced: later
// calls leave it out.
//
// MachineAlarm::alarm_ms is the newest sample that the answer needed. The job hears of it in the next call: half a
// `call_interval_ms` later on average, which belongs into any comparison of times.
//
// This is a baseline: the default detector is another. Input that cannot be used never alarms, and is counted.
// Cost of a call: machines * ticks windows per metric through the LSTM-VAE and the distances of distance_sum.h.
// Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_MINDER_H_
#define LOCKSTEP_EVAL_MINDER_MINDER_H_

#include <cstdint>
#include <vector>

#include "detector/counters/machine_alarm.h"
#include "eval/minder/distance_sum.h"
#include "eval/minder/metric_grid.h"
#include "eval/minder/minder_model.h"
#include "eval/minder/normal_score.h"

namespace lockstep {

enum class MinderVariant : uint8_t {
  kMinder,        // as published
  kRaw,           // RAW: windows as they are, without denoising
  kConcatenated,  // CON: the denoised windows of all metrics as one point
  kIntegrated,    // INT: one network over all metrics; needs MinderModel::integrated
  kMahalanobis,   // MD: summary features per metric, without denoising
};

struct MinderOptions {
  MinderVariant variant = MinderVariant::kMinder;
  DistanceKind distance = DistanceKind::kEuclid;
  SimilarityThreshold threshold;
  int64_t continuity_ms = 240'000;     // 0 = the first candidate is the answer
  int64_t call_interval_ms = 480'000;  // at least a tick
  int64_t pull_ms = 900'000;
};

// Why something was not looked at. Counts are over all calls.
struct MinderLosses {
  int calls = 0;
  int absent_metrics = 0;         // of the model, not in the history
  int unknown_metrics = 0;        // of the history, not in the model
  uint64_t too_few_machines = 0;  // metrics of a call with fewer than kMinMinderMachines
  uint64_t too_short = 0;         // metrics of a call with fewer ticks than a window
  uint64_t constant = 0;          // metrics of a call whose values are all the same
  uint64_t other_interval = 0;    // metrics that kConcatenated and kIntegrated cannot join with the first
};

struct MinderResult {
  std::vector<MachineAlarm> alarms;  // by time; at most one per host
  MinderLosses losses;
};

// kConcatenated and kIntegrated want a grid of one tick for all metrics (GridOptions::tick_ms). kIntegrated answers
// nothing without a network or unless all metrics of the model are there.
MinderResult RunMinder(const MetricGrid& grid, const MinderModel& model, const MinderOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_MINDER_H_
