// Counter histories of the machines of one job: what metrics-csv holds and what the simulator makes.
//
// One series per (host, device, metric name). Times are milliseconds of whatever clock wrote them, rising within a
// series; samples may be irregular, missing or NaN. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_METRIC_TABLE_H_
#define LOCKSTEP_DETECTOR_MODEL_METRIC_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/metric_catalog.h"

namespace lockstep {

struct MetricSeries {
  int32_t host = -1;   // index into MetricTable::hosts
  std::string device;  // "" = the host, "gpu0", "mlx5_0/1", ...
  std::string name;
  Metric metric = Metric::kUnspecified;  // kUnspecified = a name that the catalogue does not know
  std::vector<int64_t> time_ms;
  std::vector<double> value;  // one per time
};

struct MetricTable {
  std::string job;
  std::vector<std::string> hosts;
  std::vector<MetricSeries> series;  // by host, device, name
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_METRIC_TABLE_H_
