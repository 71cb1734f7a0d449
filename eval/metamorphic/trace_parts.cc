#include "eval/metamorphic/trace_parts.h"

#include <algorithm>

namespace lockstep {

std::vector<int32_t> RanksOfOperations(const Trace& trace) {
  std::vector<int32_t> rank_of(trace.operations.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::fill(rank_of.begin() + static_cast<std::ptrdiff_t>(trace.first_operation[rank]),
              rank_of.begin() + static_cast<std::ptrdiff_t>(trace.first_operation[rank + 1]),
              static_cast<int32_t>(rank));
  }
  return rank_of;
}

Trace KeepOperations(const Trace& trace, absl::FunctionRef<bool(size_t)> keep) {
  Trace kept;
  kept.job = trace.job;
  kept.hosts = trace.hosts;
  kept.ranks = trace.ranks;
  kept.communicators = trace.communicators;
  kept.missing_ranks = trace.missing_ranks;
  kept.lost_records = trace.lost_records;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    kept.first_operation.push_back(kept.operations.size());
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      if (keep(i)) kept.operations.push_back(trace.operations[i]);
    }
  }
  kept.first_operation.push_back(kept.operations.size());
  return kept;
}

}  // namespace lockstep
