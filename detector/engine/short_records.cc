#include "detector/engine/short_records.h"

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "detector/engine/coverage.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {
namespace {

// Of operations that were only handed over, nothing is known.
bool TellsAnything(const Trace& trace, const StepRange& range) {
  const absl::Span<const TraceOperation> operations =
      absl::MakeConstSpan(trace.operations).subspan(range.begin, range.end - range.begin);
  return std::any_of(operations.begin(), operations.end(),
                     [](const TraceOperation& operation) { return TellsWaiting(operation.quality); });
}

}  // namespace

std::vector<ShortRecords> ShortRecordsOf(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  const StepTable& steps = analysis.steps;
  std::vector<ShortRecords> found;
  std::vector<int32_t> of_host(trace.hosts.size(), -1);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    int32_t last = steps.steps - 1;
    while (last >= 0 && !TellsAnything(trace, steps.Of(rank, last))) --last;
    const int32_t host = trace.ranks[rank].host;
    const bool is_placed = host >= 0;
    if (is_placed) of_host[static_cast<size_t>(host)] = std::max(of_host[static_cast<size_t>(host)], last);
    if (last + 1 == steps.steps) continue;
    found.push_back({is_placed ? trace.hosts[static_cast<size_t>(host)] : "", trace.ranks[rank].rank, last});
  }
  for (size_t host = 0; host < trace.hosts.size(); ++host) {
    if (of_host[host] + 1 < steps.steps) found.push_back({.host = trace.hosts[host], .last_step = of_host[host]});
  }
  return found;
}

}  // namespace lockstep
