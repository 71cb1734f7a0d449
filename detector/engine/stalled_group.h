// One fault, one verdict: an adapter whose transfers stand still in some steps, and a group that is slow in the same
// steps and passes that adapter.
//
// The two are found apart: stalls by single transfers (network/transfer_stall.h), groups by what slow paths share
// (network/path_vote.h). Whatever else the group holds has no stall of its own, so that the group is slow by the
// adapter. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_STALLED_GROUP_H_
#define LOCKSTEP_DETECTOR_ENGINE_STALLED_GROUP_H_

#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

// Takes groups that `stall` explains out of `verdicts`: what they cost and what shows them become the stall's. Returns
// what was taken out.
std::vector<Verdict> JoinStalledGroups(Verdict* stall, std::vector<Verdict>* verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_STALLED_GROUP_H_
