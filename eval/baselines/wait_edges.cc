#include "eval/baselines/wait_edges.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "detector/model/input.h"

namespace lockstep {

std::vector<WaitEdge> WaitEdges(const JoinedTrace& joined) {
  const Trace& trace = joined.trace();
  std::vector<WaitEdge> waits;
  for (size_t i = 0; i < joined.instances(); ++i) {
    const JoinedOperation& last = LastArriver(joined.Members(i));
    for (const JoinedOperation& member : joined.Members(i)) {
      if (member.rank_index == last.rank_index) continue;
      waits.push_back({member.rank_index, last.rank_index, static_cast<double>(member.duration_ns - last.duration_ns)});
    }
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (operation.kind != OperationKind::kRecv || !operation.started() || !operation.finished()) continue;
      const int32_t sender = PeerIndex(trace, operation);
      if (sender < 0) continue;
      waits.push_back({static_cast<int32_t>(rank), sender, static_cast<double>(operation.duration_ns())});
    }
  }
  const auto key = [](const WaitEdge& edge) { return std::tie(edge.waiting, edge.waited_for); };
  std::stable_sort(waits.begin(), waits.end(), [&](const WaitEdge& a, const WaitEdge& b) { return key(a) < key(b); });
  size_t kept = 0;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (kept > 0 && key(waits[kept - 1]) == key(waits[i])) {
      waits[kept - 1].wait_ns += waits[i].wait_ns;
    } else {
      waits[kept++] = waits[i];
    }
  }
  waits.resize(kept);
  return waits;
}

}  // namespace lockstep
