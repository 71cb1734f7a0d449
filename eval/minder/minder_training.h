// Makes a MinderModel from histories of jobs that were mostly well, and from times at which they were not.
//
// Histories are cut into stretches as long as a call of Minder pulls, each filled and scaled as detection does it;
// windows of all machines are drawn from them, equally likely, and one network per metric is fitted, plus one over all
// metrics for the variant INT. Windows that overlap a labelled fault serve the decision tree only. Without labels of
// both kinds the metrics keep the order in which they are given. Same input and options, same bytes. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_MINDER_TRAINING_H_
#define LOCKSTEP_EVAL_MINDER_MINDER_TRAINING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/minder/lstm_vae_training.h"
#include "eval/minder/metric_grid.h"
#include "eval/minder/minder_model.h"

namespace lockstep {

// The seven metrics of the paper, in the order that it found, by the names of base/metric_catalog.h.
inline constexpr absl::string_view kPublishedMinderMetrics[] = {
    "net_transmit_pause_frames_total", "host_cpu_busy_ratio",     "gpu_utilization_ratio",      "gpu_power_watts",
    "gpu_graphics_active_ratio",       "gpu_tensor_active_ratio", "gpu_nvlink_bytes_per_second"};

struct FaultInterval {
  int64_t begin_ms = 0;
  int64_t end_ms = 0;  // exclusive
};

struct MinderHistory {
  const MetricGrid* grid = nullptr;  // of one tick for all metrics
  std::vector<FaultInterval> faults;
};

struct MinderTrainingOptions {
  LstmVaeTrainingOptions network;
  size_t max_windows = 16'384;   // per network
  int64_t stretch_ms = 900'000;  // MinderOptions::pull_ms
  int64_t priority_stride = 8;   // ticks from one labelled window to the next
};

// Up to kMaxMinderMetrics of `metrics`, names that differ. A metric that no history has, or that never varies, gets no
// network and is left out of the model.
MinderModel TrainMinder(absl::Span<const MinderHistory> histories, absl::Span<const std::string> metrics,
                        const MinderTrainingOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_MINDER_TRAINING_H_
