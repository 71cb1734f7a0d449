#include "detector/steps/peer_sample.h"

#include <algorithm>
#include <utility>

#include "detector/stats/even_places.h"
#include "detector/steps/kinds_of_calls.h"

namespace lockstep {

std::vector<size_t> SamplePeers(const Trace& trace, std::vector<int32_t> peers,
                                const std::vector<char>& without_begins) {
  const auto seen = std::partition(peers.begin(), peers.end(),
                                   [&](int32_t peer) { return without_begins[static_cast<size_t>(peer)] == 0; });
  if (seen != peers.begin()) peers.erase(seen, peers.end());
  std::vector<std::pair<int64_t, size_t>> by_time;
  for (const int32_t peer : peers) {
    int64_t inside_ns = 0;
    for (const TraceOperation& operation : trace.OperationsOf(static_cast<size_t>(peer))) {
      if (operation.finished()) inside_ns += operation.duration_ns();
    }
    by_time.emplace_back(inside_ns, static_cast<size_t>(peer));
  }
  std::sort(by_time.begin(), by_time.end());
  std::vector<size_t> sample;
  for (const size_t place : EvenPlaces(by_time.size(), kSampledPeers)) sample.push_back(by_time[place].second);
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
