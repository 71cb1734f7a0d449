// One metric of all machines over the time that one call of Minder looks at: aligned, without holes, in [0, 1].
//
// Minder compares machines, so that the devices of a host are averaged. A missing sample becomes the nearest one in
// time, the earlier of two equally near ones; the scale is the least and greatest value of all machines in the range
// (Minder, section 4.1). Pure; values thread-compatible.

#ifndef LOCKSTEP_EVAL_MINDER_MACHINE_HISTORY_H_
#define LOCKSTEP_EVAL_MINDER_MACHINE_HISTORY_H_

#include <cstdint>
#include <eigen3/Eigen/Core>
#include <vector>

#include "absl/types/span.h"
#include "eval/minder/metric_grid.h"

namespace lockstep {

struct TickRange {
  int64_t begin_ms = 0;
  int64_t tick_ms = 1000;
  int64_t ticks = 0;

  int64_t EndMs(int64_t tick) const { return begin_ms + (tick + 1) * tick_ms; }
};

struct MachineHistory {
  std::vector<int32_t> hosts;  // one per row, rising
  Eigen::MatrixXf values;      // row = host, column = tick of the range
};

// Hosts without any sample in the range are left out. A tick takes the column of `matrix` that ends last within it, so
// that nothing newer than the range goes in.
MachineHistory FillMachineHistory(const MetricMatrix& matrix, const TickRange& range);

// The rows of `hosts`, which are a subset of history.hosts in the same order.
MachineHistory SelectHosts(const MachineHistory& history, absl::Span<const int32_t> hosts);

// Scales all values to [0, 1]. False, and nothing is changed, when they are all the same: there is nothing to compare.
bool NormaliseHistory(MachineHistory& history);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_MACHINE_HISTORY_H_
