// From who waits for whom to the causes: what others wait for and what waits for nobody.
//
//   - a rank that has not entered, or whose GPU never began what its host enqueued;
//   - a rank that does not finish what most others have finished (nobody leaves a synchronous operation before all
//     have entered);
//   - an operation that all members stand in: the transfer is stuck, or the calls differ, or a member cannot move;
//   - a cycle: ranks that entered different operations and wait for each other, and for nobody else.
// Cost O(nodes + edges of the graph + members of stuck operations). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {

// Without victims, and nothing is left out. `waited_for`: the edges of the graph turned round. `artefacts_likely`:
// records of where ranks stand are likely to be lost.
std::vector<Hang> CollectCauses(const Frontier& frontier, const WaitGraph& graph,
                                const std::vector<std::vector<int32_t>>& waited_for, bool artefacts_likely);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_
