#include "detector/hang/hang_victims.h"

#include <cstddef>
#include <utility>

#include "detector/hang/blocked_operation.h"

namespace lockstep {

HangVictims::HangVictims(const WaitGraph& graph) : graph_(graph), waited_for_(graph.edges.size()) {
  for (size_t node = 0; node < graph.edges.size(); ++node) {
    for (const int32_t next : graph.edges[node]) {
      waited_for_[static_cast<size_t>(next)].push_back(static_cast<int32_t>(node));
    }
  }
}

std::vector<char> HangVictims::Of(const Hang& hang) const {
  const size_t ranks = graph_.edges.size() - graph_.blocked_operations.size();
  std::vector<int32_t> unvisited = hang.kind == HangKind::kTransfer ? std::vector<int32_t>{} : hang.ranks;
  for (size_t s = 0; s < graph_.blocked_operations.size(); ++s) {
    const BlockedOperation& blocked = graph_.blocked_operations[s];
    if (blocked.communicator == hang.communicator && blocked.sequence == hang.sequence) {
      unvisited.push_back(static_cast<int32_t>(ranks + s));
    }
  }
  std::vector<char> reached = ReachedFrom(std::move(unvisited), waited_for_);
  for (const int32_t rank : hang.ranks) reached[static_cast<size_t>(rank)] = 0;
  return reached;
}

}  // namespace lockstep
