#include "eval/suites/trace_cut.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

// The same job, with those operations of each rank that `keep` returns true for, as `keep` leaves them.
template <typename Keep>
Trace Filtered(const Trace& trace, Keep keep) {
  Trace cut;
  cut.job = trace.job;
  cut.hosts = trace.hosts;
  cut.ranks = trace.ranks;
  cut.communicators = trace.communicators;
  cut.missing_ranks = trace.missing_ranks;
  cut.lost_records = trace.lost_records;
  cut.first_operation.reserve(trace.first_operation.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    cut.first_operation.push_back(cut.operations.size());
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    for (size_t i = 0; i < operations.size(); ++i) {
      TraceOperation operation = operations[i];
      if (keep(i, operations.size(), &operation)) cut.operations.push_back(operation);
    }
  }
  cut.first_operation.push_back(cut.operations.size());
  return cut;
}

}  // namespace

Trace UntilTime(const Trace& trace, int64_t host_ns) {
  return Filtered(trace, [&](size_t, size_t, TraceOperation* operation) {
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
  return Filtered(trace, [&](size_t i, size_t count, TraceOperation*) {
    return static_cast<int64_t>(i) * all_steps < static_cast<int64_t>(count) * steps;
  });
}

}  // namespace lockstep
