// What the peers of a slow rank do unseen, beside operations that wait in line.
//
// Where operations of one communicator queue up beside the work, the next one of a rank that is ahead stands in line:
// it begins as the one before it ends, whenever the work before it was done. The slow rank comes last, none of its work
// is hidden, and it seems to do what nobody else does, nor itself while it was quick. But it tells: where its peers
// stand in line and it does not, work goes on beside what they stand behind. So its work there began with the first of
// these, not with the end of the last. At the places where peers do not stand in line, and work began at the same
// place, peers and rank are compared. At all others a healthy rank would need less of its work in that proportion;
// where a rank waits for its input, at one place, as much as it does. A place counts as often as it comes.
// Nothing is told where no peer stands in line, too little of the work is seen, or what is seen takes no longer.
//
// Looks at 16 steps and kSampledPeers peers of each cause. Cost O(their operations * log of the places of a step).
// Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_HIDDEN_WORK_H_
#define LOCKSTEP_DETECTOR_SLOW_HIDDEN_WORK_H_

#include <vector>

#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Sets Suspect::needed_seconds of causes that are slow in all steps of their stretch and compared with peers. A cause's
// ranks need the same share.
void TellHiddenWork(const TraceAnalysis& analysis, std::vector<SlowCause>* causes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_HIDDEN_WORK_H_
