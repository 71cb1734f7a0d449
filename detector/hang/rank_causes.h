// Ranks that are a cause of a hang: others wait for them, or have left them behind, and they wait for nobody.
//
// Ranks that one operation waits for are one cause with several culprits. So are those of several operations that have
// one of them in common: told of is the operation in which most ranks wait. What a member called behind something that
// it alone does not finish says nothing new. A GPU that has begun nothing of what its host called is told apart where
// records are lost: this call may be among them. Cost O(edges of the graph + causes x ranks). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_RANK_CAUSES_H_
#define LOCKSTEP_DETECTOR_HANG_RANK_CAUSES_H_

#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"

namespace lockstep {

struct RankCauses {
  std::vector<Hang> hangs;     // kNotEntered, kNotFinished; kTransfer where more than half are left behind
  std::vector<Hang> uncalled;  // kNotEntered, of one rank each: causes where nothing else is one
};

// `graph`: of this frontier.
RankCauses FindRankCauses(const Frontier& frontier, const WaitGraph& graph);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_RANK_CAUSES_H_
