// Who waits for a cause of a hang, directly or over others: the wait graph (wait_graph.h), walked against its edges.
//
// The walk begins at the ranks of the cause and at the operation at which it shows. Of a stuck transfer only the
// operation counts: its ranks hold up nobody by themselves. The graph must outlive it. Cost O(edges) once, and O(edges)
// per cause. Immutable; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_VICTIMS_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_VICTIMS_H_

#include <cstdint>
#include <vector>

#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {

class HangVictims {
 public:
  explicit HangVictims(const WaitGraph& graph);

  // By node: the nodes that wait for it, rising. The edges of the graph turned round.
  const std::vector<std::vector<int32_t>>& waited_for() const { return waited_for_; }

  // By node: whether it waits for the cause; the cause's own ranks do not.
  std::vector<char> Of(const Hang& hang) const;

 private:
  const WaitGraph& graph_;
  std::vector<std::vector<int32_t>> waited_for_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_VICTIMS_H_
