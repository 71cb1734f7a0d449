#include "cli/inputs/standstill.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep {

void AssumeStandstill(Trace& trace) {
  if (std::any_of(trace.ranks.begin(), trace.ranks.end(),
                  [](const TraceRank& rank) { return rank.last_seen_ns != kNoTime; })) {
    return;
  }
  std::vector<int64_t> last_record_ns(trace.hosts.size(), kNoTime);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (trace.ranks[rank].host < 0) continue;
    int64_t& last_ns = last_record_ns[static_cast<size_t>(trace.ranks[rank].host)];
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      last_ns = std::max({last_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
    }
  }
  for (TraceRank& rank : trace.ranks) {
    if (rank.host < 0) continue;
    const int64_t last_ns = last_record_ns[static_cast<size_t>(rank.host)];
    if (last_ns != kNoTime) rank.last_seen_ns = last_ns + kStandstillNanos;
  }
}

}  // namespace lockstep
