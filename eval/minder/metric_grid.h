// Counter histories on a common raster: what Minder and the other baselines compute on. The detector itself takes
// samples as they arrive (detector/counters/metric_raster.h).
//
// One matrix per metric name: rows are units (a host, or a device of a host), columns are ticks of that metric's own
// usual interval, NaN is "not known". Gauges are averaged over a tick; counters become rates per second over the time
// since the sample before, and an interval in which a counter fell (wrap or reset) gives no rate: nothing is guessed.
// A series whose samples lie off the raster is shifted by less than half a tick, so that a column never holds anything
// newer than TickEndMs of it: a method that looks at columns up to t could have been running live at that moment.
//
// What cannot be used is dropped and counted in SampleLosses: values that are not finite, DCGM's blank sentinels (which
// leak through exporters as values), repeated and misplaced samples, hosts whose clock is elsewhere, whatever exceeds
// the limits. Series of processes (device "pid:...") have no peers and are left out.
//
// Cost: O(samples). Memory: 4 bytes per cell, at most GridOptions::max_cells of them. Pure; values thread-compatible.

#ifndef LOCKSTEP_EVAL_MINDER_METRIC_GRID_H_
#define LOCKSTEP_EVAL_MINDER_METRIC_GRID_H_

#include <cstdint>
#include <eigen3/Eigen/Core>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/metric_catalog.h"
#include "detector/model/metric_table.h"
#include "detector/model/sample_losses.h"

namespace lockstep {

struct GridOptions {
  int64_t tick_ms = 0;              // of all metrics; 0 = the median interval between samples, for each metric
  int64_t max_ticks = 200'000;      // of one metric; the newest are kept
  int64_t max_cells = 250'000'000;  // of all metrics together; the newest ticks are kept
};

struct GridUnit {
  int32_t host = -1;   // index into MetricTable::hosts
  std::string device;  // "" = the host

  bool operator==(const GridUnit&) const = default;
};

struct MetricMatrix {
  std::string name;
  Metric metric = Metric::kUnspecified;
  bool is_rate = false;         // values are per second
  std::vector<GridUnit> units;  // one per row, by host and device
  int64_t start_ms = 0;         // where column 0 begins
  int64_t tick_ms = 0;
  Eigen::MatrixXf values;  // column-major: the units of one tick lie side by side
  // Per column, the newest sample in it and in those before: all of it was known then. Of slow metrics that is long
  // before the tick ends. Rises; at least the beginning of the tick, where it holds nothing.
  std::vector<int64_t> known_ms;

  // Nothing in columns up to `column` is newer than this.
  int64_t TickEndMs(int64_t column) const { return start_ms + (column + 1) * tick_ms; }
};

struct MetricGrid {
  std::vector<MetricMatrix> metrics;  // by name
  SampleLosses losses;

  // nullptr when there is none.
  const MetricMatrix* Find(absl::string_view name) const;
};

MetricGrid BuildGrid(const MetricTable& table, const GridOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_METRIC_GRID_H_
