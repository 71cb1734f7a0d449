// Steps without marks: where each training step of each rank begins and ends.
//
// A training step makes the same calls again and again. Among the kinds of calls of a rank (group family, operation,
// size) the one whose recurrences cut its history into stretches that hold nearly all kinds of calls, and into as many
// such stretches as possible, happens once per step: the anchor (step_anchor.h). How many micro-batches lie between
// does not matter; a checkpoint's own calls are too few. Calls that move next to nothing do not count among those that
// a step has to hold: a loss that ranks agree on every tenth step makes no step ten times as long. A step connects
// all peers, as the end of it does and micro-batches inside of replicas do not. An evaluation belongs to the step after
// it, unless it makes the anchor's call as well: then it is a step of its own, and no usual one. Since all members of a
// group meet in each instance of the anchor, the instances number the steps of the group; Send/Recv and larger groups
// connect the numberings of groups that never meet (the most frequent difference decides).
//
// What misleads it: micro-batches that hold four fifths of the kinds of calls of the step and connect all peers, as
// where each reduces its gradients (they count as steps), and checkpoints of their own large call beside steps of fewer
// than four kinds.
//
// A step of a rank reaches from behind one anchor through the next one. Steps are numbered from 0, the first that the
// records hold. Beginnings and ends of the records that most ranks have only in part are left out. Cost O(records x
// kinds of calls of one sample rank per class). Pure. Abstains (no steps) when nothing recurs.

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_FINDER_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_FINDER_H_

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_table.h"

namespace lockstep {

// `executor` may be nullptr.
StepTable FindSteps(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                    Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_FINDER_H_
