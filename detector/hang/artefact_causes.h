// Causes of a hang that lost records only seem to show.
//
// A rank whose record of the operation in which it stands was lost looks as if it had not come and waited for nobody: a
// missing-record artefact, which hides the true cause from those that wait for it. One cause is far more likely than
// several, so the surest is kept, of causes and of the ranks of one cause:
//   1. death, hosts whose records end before what others prove, calls that differ: no loss makes them appear;
//   2. a cycle, a rank that does not get out of what others have left, one whose GPU has not begun what its host
//   called,
//      an operation in which all members are seen to stand: much would have to be lost;
//   3. where records are lost, all others.
// A less sure cause goes if all that wait for it wait for the surest as well, and in any case where artefacts are to be
// expected. Among those of the third kind the one that most ranks wait for is kept. If that leaves several ranks on
// several hosts, of which all but one may be artefacts, nothing tells which: that is doubt. Of two true
// causes at once the lesser one is not named. Cost O(edges of the graph) per cause and rank of a cause. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_
#define LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"

namespace lockstep {

// That some rank's newest record was lost is likelier than one in ten.
bool ArtefactsAreLikely(const Frontier& frontier);

// That each of so many ranks, of a group of so many members, lost so many records in a row is likelier than one in ten.
bool LossIsLikely(const Frontier& frontier, size_t members, int64_t records, size_t ranks = 1);

// The cause shows by nothing but records that are not there, as many as all others have called since, and such a loss
// is likely.
bool LossExplains(const Frontier& frontier, const Hang& hang);

// `waited_for`: the edges of the wait graph turned round. `victims_of`: by node, who waits for a cause. `victims` of
// each cause must be filled in.
void DropArtefacts(const Frontier& frontier, const std::vector<std::vector<int32_t>>& waited_for,
                   absl::FunctionRef<std::vector<char>(const Hang&)> victims_of, std::vector<Hang>* hangs);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_ARTEFACT_CAUSES_H_
