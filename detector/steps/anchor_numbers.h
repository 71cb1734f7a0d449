// Which calls end the steps of each rank, and as which number.
//
// Each class of ranks has an anchor (class_anchor.h). Its instances are numbered communicator by communicator, of
// several per step (anchor_period.h) the last. Where several anchors occur in the calls of a class, such as that of
// another stage with which it meets, all of its ranks are cut at one, wherever their records begin: of those that most
// of them make, the one at which most ranks of the job meet, so that steps end at the same place; of equal ones, the
// class's own. Pure values. Cost O(records x kinds of calls of one sample rank per class).

#ifndef LOCKSTEP_DETECTOR_STEPS_ANCHOR_NUMBERS_H_
#define LOCKSTEP_DETECTOR_STEPS_ANCHOR_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// Bound of memory.
inline constexpr int32_t kMaxSteps = 1 << 20;

// Anchors have numbers from 0.
struct AnchorNumbers {
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::min();

  std::vector<int32_t> of_class;     // at which its ranks are cut; -1 = none
  std::vector<int32_t> of_channel;   // the one that occurs in it; -1 = none
  std::vector<int32_t> of_instance;  // number within its communicator; kNone = no anchor's

  // Of which anchor an operation is; -1 = of none.
  int32_t AnchorAt(const OperationInstances& matched, size_t operation) const {
    const uint32_t instance = matched.instance_of[operation];
    if (instance == kNoInstance || of_instance[instance] == kNone) return -1;
    return of_channel[static_cast<size_t>(matched.instances[instance].channel)];
  }
};

// `executor` may be nullptr.
AnchorNumbers NumberAnchors(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                            Executor* executor);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_ANCHOR_NUMBERS_H_
