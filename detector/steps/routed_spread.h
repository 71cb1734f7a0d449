// How unevenly the routing of tokens loads the ranks of an expert group, piece of work by piece of work.
//
// Every layer of every micro-batch has its own hot expert, and the group waits for it at the AllToAll behind: over a
// step the loads may even out, and the waits do not. So what counts is by how much the busiest member exceeds the mean
// of its group at each place of the step. Work that no routing decides says how much of that is batches, machines and
// noise: what lies before other operations, or, where a job has hardly any, the half of the work before AllToAlls that
// is spread least (attention lies between combine and dispatch; which is which the records do not say). Behind what ran
// beside the layers, as a reduction or a Recv does, work before an AllToAll may be of either sort, too.
//
// A few usual steps, over all groups. Cost O(operations of these steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STEPS_ROUTED_SPREAD_H_
#define LOCKSTEP_DETECTOR_STEPS_ROUTED_SPREAD_H_

#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/step_profile.h"

namespace lockstep {

// Zeros where nothing is routed, or nothing can be compared. Routing decides unless it spreads the work of the usual
// group no more than batches, machines and noise do that of the evener ones: then AllToAlls exchange parts of sequences
// (DeepSpeed-Ulysses, arXiv 2309.14509, section 3), and ranks have the same to do.
RoutedSpread MeasureRoutedSpread(const Trace& trace, const JobRoles& roles, const StepTable& steps,
                                 const OwnTimes& times);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_ROUTED_SPREAD_H_
