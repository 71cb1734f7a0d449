#include "sim/capture/lost_calls.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "detector/model/trace.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {
namespace {

// By communicator, then sequence number: since zero, when the first of its members called it.
using FirstCalls = absl::flat_hash_map<int32_t, absl::btree_map<uint64_t, int64_t>>;

FirstCalls FirstCallsOf(const Playback& playback) {
  FirstCalls first_calls;
  for (const PlayedHost& host : playback.hosts) {
    for (const size_t rank : host.ranks) {
      for (const TraceOperation& operation : playback.evidence->trace.OperationsOf(rank)) {
        if (IsTransfer(operation)) continue;
        const int64_t called_ns = operation.enqueue_ns - host.zero_ns;
        const auto [known, added] = first_calls[operation.communicator].try_emplace(operation.sequence, called_ns);
        if (!added) known->second = std::min(known->second, called_ns);
      }
    }
  }
  return first_calls;
}

// Between two calls of one communicator that are recorded.
void AddBetween(const FirstCalls& first_calls, const TraceOperation& before, const TraceOperation& behind,
                int64_t zero_ns, std::vector<LostCall>* lost) {
  const auto& known = first_calls.at(behind.communicator);
  for (auto call = known.upper_bound(before.sequence); call->first < behind.sequence; ++call) {
    const int64_t latest_ns = std::max(before.enqueue_ns, behind.enqueue_ns);
    lost->push_back({.called_ns = std::clamp(call->second + zero_ns, before.enqueue_ns, latest_ns),
                     .communicator = behind.communicator,
                     .sequence = call->first});
  }
}

}  // namespace

std::vector<std::vector<LostCall>> FindLostCalls(const Playback& playback) {
  const Trace& trace = playback.evidence->trace;
  const FirstCalls first_calls = FirstCallsOf(playback);
  std::vector<std::vector<LostCall>> lost(trace.ranks.size());
  for (const PlayedHost& host : playback.hosts) {
    for (const size_t rank : host.ranks) {
      std::map<int32_t, const TraceOperation*> newest;  // by communicator
      for (const TraceOperation& operation : trace.OperationsOf(rank)) {
        if (IsTransfer(operation)) continue;
        const TraceOperation*& before = newest[operation.communicator];
        if (before != nullptr && operation.sequence <= before->sequence) continue;
        if (before != nullptr) AddBetween(first_calls, *before, operation, host.zero_ns, &lost[rank]);
        before = &operation;
      }
      std::stable_sort(lost[rank].begin(), lost[rank].end(),
                       [](const LostCall& a, const LostCall& b) { return a.called_ns < b.called_ns; });
    }
  }
  return lost;
}

}  // namespace lockstep
