// Which Recv the work before an operation waits for, where Recvs are posted ahead of the work.
//
// Pipelines post a Recv while they still work on what came before. Its end then comes at any time: before the next Send
// of a rank that is busy, long after what a starved rank would have sent. Neither "the last end before a Send" nor "its
// end is no sign of anything" tells work from waiting on both. What tells is causality: an operation that waits for a
// Recv never began before that one ended, in no step and on no rank of the same program. So each operation of a step,
// known by its channel and its place there, goes on from the last Recv of each channel that had ended whenever any peer
// began the operation. Recvs may be posted before the end of a step for the next one: those of the step before count
// too, from the first of the step backwards. Of one program are peers that call Send and Recv in the same order, where
// calls are known: stages may share a class and fill the pipeline in different ways. A starved rank, which is the one
// that this matters for, begins as soon as it can and shows the least. Where nobody is starved, the Recv may be one too
// late for all alike.
//
// Only whole, usual steps behind whole ones, of ranks whose begins are seen, are evidence; only whole steps of the
// first kMaxPrograms programs of a class are told. An end within 1/20 of the transfer's length after a begin came
// before it. Pure. Cost O(operations log Recvs of a step), memory 4 bytes per operation; nothing of both where no
// rank receives.

#ifndef LOCKSTEP_DETECTOR_STEPS_AWAITED_RECVS_H_
#define LOCKSTEP_DETECTOR_STEPS_AWAITED_RECVS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// By operation: the index of the awaited Recv that ended last; kNoRecv = it waits for none; kUntold.
using AwaitedRecvs = std::vector<uint32_t>;
// Never indices.
inline constexpr uint32_t kNoRecv = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kUntold = kNoRecv - 1;

// `whole_steps`: as FindWholeSteps; `without_begins`: as RanksWithoutBegins. Empty where no rank receives.
AwaitedRecvs FindAwaitedRecvs(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                              const StepTable& steps, const std::vector<char>& whole_steps,
                              const std::vector<char>& without_begins, Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_AWAITED_RECVS_H_
