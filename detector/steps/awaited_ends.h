// Ends of operations that run beside the work, and that the work waits for all the same at some places of a step.
//
// Gradients are reduced beside the backward pass, and waited for once, before the optimizer; most calls go on whatever
// those do. Kind by kind (own_time.h) their ends then count for nothing, and who waits for a late rank there seems to
// work; or they count for all, and a late rank, whose reductions are short and over when it goes on, seems to work
// less. So each place of a step is asked: a call, known by its kind and which of that kind in the step it is. It goes
// on whatever another kind does if such an operation ever ran when it began (causality; a few are accidents), but for
// those that the host called later (called_moments.h). If none did, it waits for the latest end of that kind where the
// time before it, counted from there, is the same over steps and peers up to a minor part of what it is shorter by. In
// a job that sends and receives no end is taken away again: what else the work may have waited for is not known well
// enough.
//
// Learnt from some ranks of each class, those that wait least to those that wait most, in usual whole steps behind
// whole ones, and held to for all. Pure. Cost O(operations x kinds of operations x log of what is called ahead), memory
// of one class: the sampled steps' calls.

#ifndef LOCKSTEP_DETECTOR_STEPS_AWAITED_ENDS_H_
#define LOCKSTEP_DETECTOR_STEPS_AWAITED_ENDS_H_

#include <vector>

#include "base/executor.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Counts own times again where places tell more than kinds. `peers`: as OrderByWaiting. `without_begins`: as
// RanksWithoutBegins; nothing is learnt from these.
void CountAwaitedEnds(const Trace& trace, const JobRoles& roles, const PeersByWaiting& peers, const StepTable& steps,
                      const std::vector<char>& without_begins, Executor* executor, OwnTimes* times);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_AWAITED_ENDS_H_
