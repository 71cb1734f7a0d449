// Who waits for whom: ranks, the operations at which they stand, and the edges between them.
//
// Nodes 0 .. ranks-1 are rank indices, node ranks + s is blocked operation s. A rank leads to the blocked operations at
// which it waits, a blocked operation to the members that keep it from ending. A rank leads nowhere when nothing of
// others keeps it: it is outside, its GPU has not begun what its host called (`not_begun`), or called before all that
// it stands in, or it alone does not finish (`left_behind`), or it is dead. In a watched job a rank waits only where it
// has been for long, and a member that may have entered since it was last heard is neither cause nor victim. Where the
// records tell when the GPU began, a rank waits in every operation that it began; otherwise the first open operation of
// each communicator counts, and an operation may be queued behind an earlier one of another communicator. Pure; the
// frontier must outlive the graph.

#ifndef LOCKSTEP_DETECTOR_HANG_WAIT_GRAPH_H_
#define LOCKSTEP_DETECTOR_HANG_WAIT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/hang/frontier.h"

namespace lockstep {

// Why a member keeps a blocked operation from ending.
enum class MemberState : uint8_t {
  kQueued,     // called behind something else; whether the GPU has begun cannot be told
  kNotBegun,   // called, not begun
  kNotCalled,  // no record of a call
};

struct WaitGraph {
  std::vector<BlockedOperation> blocked_operations;
  std::vector<std::vector<int32_t>> edges;              // by node
  std::vector<std::vector<MemberState>> member_states;  // beside the edges of a blocked operation
  std::vector<char> not_begun;                          // by rank index
  std::vector<char> left_behind;
  std::vector<char> place_lost;  // it is not known where the rank stands: it is neither cause nor victim

  bool IsBlocked(int32_t node) const { return static_cast<size_t>(node) >= not_begun.size(); }
  const BlockedOperation& At(int32_t node) const {
    return blocked_operations[static_cast<size_t>(node) - not_begun.size()];
  }
};

WaitGraph BuildWaitGraph(const Frontier& frontier);

// By node: whether a path of `edges` leads to it from one of `nodes`, or it is one of them.
std::vector<char> ReachedFrom(std::vector<int32_t> nodes, const std::vector<std::vector<int32_t>>& edges);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_WAIT_GRAPH_H_
