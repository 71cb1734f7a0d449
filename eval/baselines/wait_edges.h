// Who waited for whom, and how long: the sparse matrix behind the random walk and the row/column/point test.
//
// In a synchronous collective everybody waits for the last arriver, for as long as it was inside longer than that one;
// in a Recv the receiver waits for the sender. Pure function; O(operations log operations).

#ifndef LOCKSTEP_EVAL_BASELINES_WAIT_EDGES_H_
#define LOCKSTEP_EVAL_BASELINES_WAIT_EDGES_H_

#include <cstdint>
#include <vector>

#include "eval/baselines/joined_trace.h"

namespace lockstep {

struct WaitEdge {
  int32_t waiting = -1;  // rank index
  int32_t waited_for = -1;
  double wait_ns = 0;
};

// One edge per pair, by (waiting, waited_for).
std::vector<WaitEdge> WaitEdges(const JoinedTrace& joined);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_BASELINES_WAIT_EDGES_H_
