// Members of a communicator whose calls differ at the same sequence number: another operation, or another size where
// all must agree. The smaller party differs. With two equal parties the same place in communicators of equal size
// decides (sister groups run the same program), then what usually follows the call before; if that does not either, all
// are listed. Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_CALL_MISMATCH_H_
#define LOCKSTEP_DETECTOR_PROGRESS_CALL_MISMATCH_H_

#include <vector>

#include "detector/progress/standing.h"
#include "detector/progress/trace_frontier.h"

namespace lockstep {

// Fills `differing` of every standing that has not ended for some member already.
void FindMismatches(const Trace& trace, const TraceFrontier& frontier, std::vector<Standing>* standings);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_CALL_MISMATCH_H_
