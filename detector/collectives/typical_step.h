// A block of equal steps folded into one typical step: for every rank the chain of its synchronous operations between
// two operations of the anchor communicator, with its own time before each, as medians over the steps of the block.
//
// Folding first and searching afterwards is what makes the search robust: a spike of one step does not survive the
// median. Steps whose operations are not all recorded, or whose chains have another shape, are left out; a block that
// loses more than half of its steps has no typical step. Own times are compared between ranks with equal duty only:
// those with the same kinds, sizes and bytes along their chain. Immutable once built; pure.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_TYPICAL_STEP_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_TYPICAL_STEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/collectives/operation_history.h"
#include "detector/roster.h"

namespace lockstep {

// A participant's place in an operation.
struct StepArrival {
  int32_t participant = -1;
  int32_t position = -1;  // in its chain
};

// One operation of the typical step.
struct StepNode {
  int32_t communicator_slot = -1;
  OperationKind kind = OperationKind::kUnknown;
  uint64_t bytes = 0;
  double transfer_seconds = 0;        // time inside of the member that came last
  std::vector<uint64_t> sequences;    // of the instances in the block, oldest first
  std::vector<StepArrival> arrivals;  // by participant
};

// One rank's way into one operation.
struct StepLink {
  int32_t node = 0;
  double own_seconds = 0;
  double opaque_seconds = 0;  // in operations with one-sided waits
  double peer_seconds = -1;   // median own time of the peers at the same place; -1 = no peers
};

// Between two operations of the anchor. `nodes` are in causal order; the last one is the anchor's.
struct StepSegment {
  std::vector<StepNode> nodes;
  std::vector<std::vector<StepLink>> chains;  // by participant, in the order of its calls
};

struct TypicalStep {
  int steps_used = 0;
  int steps_skipped = 0;
  std::vector<int32_t> rank_slots;  // by participant = member of the anchor
  std::vector<StepSegment> segments;
};

struct BlockOfSteps {
  int32_t anchor_slot = -1;
  uint64_t anchors_per_step = 1;
  int64_t first_step = 0;
  int steps = 0;
};

// Folds the block; nothing when fewer than half of its steps can be used.
std::optional<TypicalStep> FoldSteps(const OperationHistory& history, const std::vector<Communicator>& communicators,
                                     const BlockOfSteps& block);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_TYPICAL_STEP_H_
