#include "detector/slow/nearest_complete.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// The fewest of which a median leaves one out.
constexpr size_t kNearest = 3;

}  // namespace

double NearestCompleteSeconds(const TraceAnalysis& analysis, uint32_t instance) {
  const OperationInstances& matched = analysis.matched;
  const std::vector<TraceOperation>& operations = analysis.trace->operations;
  const OperationChannel& channel = matched.channels[static_cast<size_t>(matched.instances[instance].channel)];
  const TraceOperation& own = operations[matched.MembersOf(matched.instances[instance]).front()];
  std::vector<double> near;
  const auto look_at = [&](uint32_t place) {
    if (place >= channel.instances) return;
    const OperationInstance& other = matched.instances[channel.first_instance + place];
    if (!matched.Complete(other, *analysis.trace)) return;
    int64_t quickest_ns = std::numeric_limits<int64_t>::max();
    for (const uint32_t member : matched.MembersOf(other)) {
      const TraceOperation& operation = operations[member];
      const bool alike = operation.bytes == own.bytes && (channel.source >= 0 || operation.kind == own.kind);
      if (!alike || !operation.finished()) return;
      quickest_ns = std::min(quickest_ns, operation.duration_ns());
    }
    near.push_back(ToSeconds(quickest_ns));
  };
  const uint32_t place = instance - channel.first_instance;
  for (uint32_t apart = 1; apart < channel.instances && near.size() < kNearest; ++apart) {
    look_at(place - apart);  // wraps round before the first
    look_at(place + apart);
  }
  return near.empty() ? -1 : MedianInPlace(&near);
}

}  // namespace lockstep
