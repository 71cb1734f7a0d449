// How long data was under way, path by path and step by step, against what the same transfer takes elsewhere.
//
// The transfer time of an operation is the shortest time that any member spent inside: the last to arrive waits for
// nobody, so that no clock is compared and no waiting for a late member counts. Where some Recv are
// over sooner than any link could carry their bytes, Send go into a buffer, wait for nobody, and alone count. Its step
// is the step of the operation. A path is a channel of OperationInstances: a group's collectives, or Send/Recv in one
// direction. Its ratio is transfer time over that of the same operation and size (where none is recorded: and place in
// the step) on paths of equal duty (same group family, same side of the host boundary): the lower quartile of the
// paths' medians, which holds while fewer than three quarters of them are slow. Where no two paths send as much, since
// batches decide about sizes, times per byte of about equal sizes are compared instead. A path without its like is
// compared with its own quickest quarter, so that only a change shows. C4's delay matrix (arXiv 2406.04594 section 4)
// and DeepXTrace's are means over pairs; ratios, quartiles and groups as rows are ours.
//
// Of the Send/Recv of one step the least slow counts: those issued together with a slow one end with it and say nothing
// about their own direction. Operations with a missing or unfinished member, host-side times and operations of less
// than 1 MiB, whose time is latency, are left out; so are members whose begins are not seen, and
// paths with more than a quarter of them. Cost O(operations). Pure values.

#ifndef LOCKSTEP_DETECTOR_NETWORK_TRANSFER_TABLE_H_
#define LOCKSTEP_DETECTOR_NETWORK_TRANSFER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

struct TransferPath {
  std::vector<int32_t> ranks;   // rank indices: members by communicator rank, or source and destination
  int32_t channel = -1;         // OperationInstances::channels
  bool point_to_point = false;  // from ranks[0] to ranks[1]
  bool exchange = false;        // every member sends to every other (AllToAll): no ring
  bool crosses_hosts = false;
  bool alone = false;     // no path of equal duty to compare with
  bool sees_all = false;  // else any single transfer may have waited for a member whose begins are not seen
  // Robust deviation of log ratio, of all paths that stay within hosts, or of all that do not. Over paths and steps,
  // or, where that is less, from step to step and from path to path among the quickest. What is slow on most paths, or
  // from some step on, is no noise.
  double noise = 0;
  double step_noise = 0;  // from step to step alone, of the same paths
};

struct TransferTable {
  size_t steps = 0;
  std::vector<TransferPath> paths;
  // By path, then step; NaN = none was measured. Of groups, over all operations of the step together.
  std::vector<float> ratio;  // transfer time over the usual one; 1 = as elsewhere
  // Above the usual one, of operations during which the last member to arrive enters nothing that it called later.
  std::vector<float> excess_seconds;
  std::vector<float> longer_seconds;  // above the usual ones, of all its transfers in the step together
};

// `without_begins`: as RanksWithoutBegins (steps/begins_seen.h). `executor` may be nullptr.
TransferTable MeasureTransfers(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                               const StepTable& steps, const std::vector<char>& without_begins,
                               Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_TRANSFER_TABLE_H_
