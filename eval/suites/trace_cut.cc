#include "eval/suites/trace_cut.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
Trace KeepOperations(const Trace& trace, KeepOperation keep) {
  Trace kept;
  kept.job = trace.job;
  kept.hosts = trace.hosts;
  kept.ranks = trace.ranks;
  kept.communicators = trace.communicators;
  kept.missing_ranks = trace.missing_ranks;
  kept.lost_records = trace.lost_records;
  kept.first_operation.reserve(trace.first_operation.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    kept.first_operation.push_back(kept.operations.size());
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      TraceOperation operation = trace.operations[i];
      if (keep(rank, i, &operation)) kept.operations.push_back(operation);
    }
  }
  kept.first_operation.push_back(kept.operations.size());
  return kept;
}

Trace UntilTime(const Trace& trace, int64_t host_ns) {
  return KeepOperations(trace, [&](size_t, size_t, TraceOperation* operation) {
    if (operation->enqueue_ns > host_ns) return false;
    if (operation->started() && operation->start_ns > host_ns) operation->start_ns = operation->end_ns = kNoTime;
    if (operation->finished() && operation->end_ns > host_ns) operation->end_ns = kNoTime;
    return true;
  });
}

Trace SeenByAgents(const Trace& trace, int64_t host_ns, const std::vector<std::string>& silent_hosts) {
  Trace seen = UntilTime(trace, host_ns);
  for (TraceRank& rank : seen.ranks) {
    const std::string& host = seen.hosts[static_cast<size_t>(rank.host)];
    const bool silent = std::find(silent_hosts.begin(), silent_hosts.end(), host) != silent_hosts.end();
    if (!silent) rank.last_seen_ns = host_ns;
  }
  return seen;
}

Trace FirstSteps(const Trace& trace, int64_t steps, int64_t all_steps) {
  return KeepOperations(trace, [&](size_t rank, size_t i, TraceOperation*) {
    const auto place = static_cast<int64_t>(i - trace.first_operation[rank]);
    return place * all_steps < static_cast<int64_t>(trace.OperationsOf(rank).size()) * steps;
  });
}

}  // namespace lockstep
