// The call that ends the steps of a class of ranks: the anchor (step_anchor.h), in the terms of the trace.
//
// The history of the peer with the most records tells it. Kinds of calls differ in the family of their group, the
// operation, and the peer of a Send/Recv. They differ in size where sizes tell which call it is (telling_sizes.h). A
// call that moves next to nothing is known by its size. Where sizes are not recorded, the time tells that the last
// member to come spends inside. Pure. Cost O(records of that peer x kinds of its calls); communicators are walked once
// per set of families that a candidate needs.

#ifndef LOCKSTEP_DETECTOR_STEPS_CLASS_ANCHOR_H_
#define LOCKSTEP_DETECTOR_STEPS_CLASS_ANCHOR_H_

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_anchor.h"

namespace lockstep {

// What calls of one kind have in common, and how many of them a step makes.
struct AnchorCall {
  int32_t family = -1;  // of the communicator (communicator_families.h)
  OperationKind kind = OperationKind::kUnknown;
  uint64_t bytes = 0;
  bool by_bytes = false;  // calls of other sizes are other calls
  uint32_t per_step = 1;
  StretchMeasure measure = StretchMeasure::kCalls;

  bool known() const { return kind != OperationKind::kUnknown; }
  bool operator==(const AnchorCall&) const = default;
};

// Nanoseconds of the host's clock, kNoTime = not known. Where a host runs ahead, its launches tell what the program
// does, and begins what others do.
inline int64_t LaunchOf(const TraceOperation& operation) {
  return operation.enqueue_ns != kNoTime ? operation.enqueue_ns : operation.start_ns;
}

// `peers`: rank indices of the class, at least one. `agree`: as FindAnchor. Not known() where nothing recurs.
AnchorCall FindClassAnchor(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                           const std::vector<int32_t>& peers, bool agree);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_CLASS_ANCHOR_H_
