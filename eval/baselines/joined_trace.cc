#include "eval/baselines/joined_trace.h"

#include <algorithm>
#include <tuple>

#include "detector/model/input.h"

namespace lockstep {

JoinedTrace::JoinedTrace(const Trace& trace) : trace_(trace) {
  std::vector<JoinedOperation> all;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (!operation.started() || !operation.finished() || !IsSynchronous(operation.kind)) continue;
      all.push_back({operation.sequence, operation.duration_ns(), operation.communicator, static_cast<int32_t>(rank)});
    }
  }
  const auto key = [](const JoinedOperation& p) { return std::tie(p.communicator, p.sequence); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const JoinedOperation& a, const JoinedOperation& b) { return key(a) < key(b); });
  participations_.reserve(all.size());
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && key(all[end]) == key(all[begin])) ++end;
    if (end - begin < 2) continue;
    first_.push_back(participations_.size());
    participations_.insert(participations_.end(), all.begin() + static_cast<ptrdiff_t>(begin),
                           all.begin() + static_cast<ptrdiff_t>(end));
  }
  first_.push_back(participations_.size());
}

const JoinedOperation& LastArriver(absl::Span<const JoinedOperation> members) {
  return *std::min_element(members.begin(), members.end(), [](const JoinedOperation& a, const JoinedOperation& b) {
    return a.duration_ns < b.duration_ns;
  });
}

int32_t PeerIndex(const Trace& trace, const TraceOperation& operation) {
  if (operation.communicator < 0 || operation.peer < 0) return -1;
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(operation.communicator)].members;
  return static_cast<size_t>(operation.peer) < members.size() ? members[static_cast<size_t>(operation.peer)] : -1;
}

std::vector<int64_t> GapsBefore(absl::Span<const TraceOperation> operations) {
  std::vector<int64_t> gaps(operations.size(), 0);
  int64_t latest_end_ns = kNoTime;
  for (size_t i = 0; i < operations.size(); ++i) {
    const TraceOperation& operation = operations[i];
    if (!operation.started() || !operation.finished()) continue;
    if (latest_end_ns != kNoTime) gaps[i] = std::max<int64_t>(0, operation.start_ns - latest_end_ns);
    latest_end_ns = std::max(latest_end_ns, operation.end_ns);
  }
  return gaps;
}

}  // namespace lockstep
