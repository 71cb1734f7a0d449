// What a rank does between its operations: the part of a step in which it waits for nobody.
//
// Before every operation, the own time reaches back to the latest moment at which the rank is known to have gone on
// with its work: the start of an earlier operation, or its end. Neither counts if the host called that operation later
// than this one: a GPU waits for what it was given before (called_moments.h). The end counts where the work waited for
// it. Where streams overlap it need not: an operation during which others of the same rank began ran beside the work,
// and its end is no sign of anything - unless own times become more regular over the steps and among the peers when it
// is taken for one, in which case the work did wait for it. That is learned from a few ranks of every class, kind by
// kind (group family and operation). So an operation that always begins right after the end of another depends on it.
//
// What began as the one before it in its communicator ended stood in line behind it. It goes on from that end, as
// recorded, also where ends of that kind count for nothing else; its own start is no sign of the work.
//
// A kind that began while another ran, on whatever rank, can do without its end. On a rank that comes late the other
// is short, and ends before: its end still is no sign of anything, though nothing began during it. So the end counts
// for what stood in line alone. Regularity decides for each such pair of kinds, too.
//
// Ends of Recvs count for what causality tells to wait for them (awaited_recvs.h), where a step is whole, and for the
// Recv that stood in line behind: a host whose queue is full posts it when it can, not when its work is done.
//
// Where sequence numbers show that a record is lost, the interval that most likely holds it is unknown.
//
// What is done between two AllToAlls is told apart. Other operations may begin together with the second, when the same
// piece of work is done: whichever is recorded first, the interval is that before the AllToAll.
//
// Times inside operations are left out whatever they are, waits or transfers: a victim's own time is not longer than
// its peers'. Clocks of different hosts never meet. Cost O(operations), memory 12 bytes per operation. Ranks are worked
// through at the same time where there is an executor. Pure.

#ifndef LOCKSTEP_DETECTOR_STEPS_OWN_TIME_H_
#define LOCKSTEP_DETECTOR_STEPS_OWN_TIME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/awaited_recvs.h"
#include "detector/steps/kinds_of_calls.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/work_moment.h"

namespace lockstep {

// How an operation follows from an earlier one of the same rank.
struct OwnInterval {
  float seconds = -1;             // -1 = unknown
  uint32_t after = kNoOperation;  // operation index
  bool after_end = false;         // true: after its end, false: after its start
  bool routed = false;            // between two AllToAlls: how much it is, the routing of tokens decides
};

// Which ends of operations the work goes on from.
struct WorkOrder {
  // Kinds of operations that run beside the work and that the work waits for all the same.
  std::vector<char> awaited;  // by KindOf
  // By two of KindOf: the second goes on from the end of the first only if it stood in line behind it. Empty rows: no.
  std::vector<std::vector<char>> apart;

  bool Apart(size_t first, size_t second) const { return !apart[first].empty() && apart[first][second] != 0; }
};

struct OwnTimes {
  std::vector<OwnInterval> before;  // by operation
  WorkOrder order;
};

// `peers`: as OrderByWaiting. `awaited`: as FindAwaitedRecvs. `without_begins`: as RanksWithoutBegins; what depends on
// what is learnt of the others, where there are any.
OwnTimes MeasureOwnTimes(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                         const PeersByWaiting& peers, const StepTable& steps, const AwaitedRecvs& awaited,
                         const std::vector<char>& without_begins, Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_OWN_TIME_H_
