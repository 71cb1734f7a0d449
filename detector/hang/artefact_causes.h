// Causes of a hang that lost records only seem to show.
//
// A rank whose record of the operation in which it stands was lost looks as if it had not come and waited for nobody: a
// missing-record artefact, which hides the true cause from those that wait for it. Where some missing-record artefacts
// are to be expected, one cause is far more likely than several. Kept is the surest, and among causes as sure the one
// that most ranks wait for:
//   1. death, hosts whose records end before what others prove, calls that differ: no loss makes them appear;
//   2. a cycle, a rank that does not get out of what others have left, an operation in which all members are seen to
//      stand: much would have to be lost;
//   3. all others.
// Of two true causes at once the lesser one is then not named. Cost O(edges of the graph) per rank of a cause. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_
#define LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"

namespace lockstep {

// That some rank's newest record was lost is likelier than one in ten.
bool ArtefactsAreLikely(const Frontier& frontier);

// `waited_for`: the edges of the wait graph turned round. `victims` of each cause must be filled in.
void DropArtefacts(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for,
                   std::vector<Hang>* hangs);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_
