// From who waits for whom to the causes: what others wait for and what waits for nobody.
//
//   - a rank that has not entered, or whose GPU never began what its host enqueued;
//   - a rank that does not finish what most others have finished (nobody leaves a synchronous operation before all
//     have entered);
//   - an operation that all members stand in: the transfer is stuck, or the calls differ, or a member cannot move;
//   - a cycle: ranks that entered different operations and wait for each other.
// Cost O(nodes + edges of the graph + members of stuck operations). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {

// What is known of the waits as a whole.
struct WaitTrust {
  bool artefacts_likely = false;  // records of where ranks stand are likely to be lost
  bool long_only = false;  // only waits that a clock shows to be long count: a cycle stays, whoever else is missing
};

// Without victims, and nothing is left out. `waited_for`: the edges of the graph turned round.
std::vector<Hang> CollectCauses(const Frontier& frontier, const WaitGraph& graph,
                                const std::vector<std::vector<int32_t>>& waited_for, WaitTrust trust);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_CAUSES_H_
