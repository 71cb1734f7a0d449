#include "detector/steps/peer_sample.h"

#include <algorithm>

#include "detector/stats/even_places.h"
#include "detector/steps/kinds_of_calls.h"

namespace lockstep {

PeersByWaiting OrderByWaiting(const Trace& trace, const JobRoles& roles, Executor* executor) {
  const size_t ranks = trace.ranks.size();
  std::vector<int64_t> inside_ns(ranks, 0);
  RunParts(executor, ranks, PartsOf(executor, ranks), [&](size_t, size_t first, size_t last) {
    for (size_t rank = first; rank < last; ++rank) {
      for (const TraceOperation& operation : trace.OperationsOf(rank)) {
        if (operation.finished()) inside_ns[rank] += operation.duration_ns();
      }
    }
  });
  PeersByWaiting peers = roles.classes;
  for (std::vector<int32_t>& of_class : peers) {
    std::stable_sort(of_class.begin(), of_class.end(), [&](int32_t a, int32_t b) {
      return inside_ns[static_cast<size_t>(a)] < inside_ns[static_cast<size_t>(b)];
    });
  }
  return peers;
}

std::vector<size_t> SamplePeers(const std::vector<int32_t>& by_waiting, const std::vector<char>& without_begins) {
  std::vector<size_t> peers;
  for (const int32_t peer : by_waiting) {
    if (without_begins[static_cast<size_t>(peer)] == 0) peers.push_back(static_cast<size_t>(peer));
  }
  if (peers.empty()) peers.assign(by_waiting.begin(), by_waiting.end());
  std::vector<size_t> sample;
  for (const size_t place : EvenPlaces(peers.size(), kSampledPeers)) sample.push_back(peers[place]);
  return sample;
}

std::vector<uint32_t> PlacesOfCalls(const Trace& trace, const JobRoles& roles, const StepTable& steps, size_t rank,
                                    absl::FunctionRef<bool(int32_t)> wanted) {
  const size_t first = trace.first_operation[rank];
  std::vector<uint32_t> places(trace.first_operation[rank + 1] - first, kNoPlace);
  std::vector<uint32_t> made;  // by kind
  for (int32_t step = 0; step < steps.steps; ++step) {
    const StepRange& range = steps.Of(rank, step);
    if (!range.complete || !wanted(step)) continue;
    made.assign(static_cast<size_t>(roles.families) * kOperationKinds, 0);
    for (uint32_t i = range.begin; i < range.end; ++i) places[i - first] = made[KindOf(roles, trace.operations[i])]++;
  }
  return places;
}

}  // namespace lockstep
