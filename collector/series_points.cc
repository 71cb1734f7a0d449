#include "collector/series_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/metric_catalog.h"
#include "collector/convert/convert.h"

namespace lockstep {

void AppendSeriesPoints(const wire::CaptureInput& input, std::vector<SeriesPoint>& points) {
  const int64_t waited_ns = WaitedNanos(input.report());
  for (const wire::MetricBlock& block : input.report().metrics()) {
    const int64_t age_ns =
        waited_ns + std::clamp<int64_t>(input.report().monotonic_ns() - block.monotonic_ns(), 0, kMaxSampleAgeNanos);
    const int columns = std::min(block.metrics_size(), block.values_size());
    for (int i = 0; i < columns; ++i) {
      if (block.metrics(i) > std::numeric_limits<uint16_t>::max() || !std::isfinite(block.values(i))) continue;
      const Metric metric = static_cast<Metric>(block.metrics(i));
      if (FindMetric(metric) == nullptr) continue;
      points.push_back({input.host(), block.device(), metric, input.received_wall_ns() - age_ns, block.values(i)});
    }
  }
}

}  // namespace lockstep
