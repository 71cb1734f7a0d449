// What is remembered of one block of steps: how much every rank worked, and whom the search named. Pure values.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_BLOCK_SUMMARY_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_BLOCK_SUMMARY_H_

#include <cstdint>
#include <vector>

#include "detector/collectives/operation_history.h"
#include "detector/collectives/step_search.h"
#include "detector/collectives/typical_step.h"
#include "detector/roster.h"

namespace lockstep {

// One rank that a block's search named.
struct BlockCulprit {
  int32_t rank_slot = -1;
  double saved_alone_seconds = 0;
  double saved_last_seconds = 0;
  // The operation at which its delay enters the job.
  int32_t communicator_slot = -1;
  OperationKind kind = OperationKind::kUnknown;
  int times_last = 0;           // steps in which it was the last to enter it
  double wait_seconds = 0;      // typical wait of the other members
  bool at_anchor = false;       // it is the anchor's: the delay reaches all ranks there and then
  std::vector<int32_t> relays;  // ranks that were held up there and passed the delay on; at most kMaxRelays
};
inline constexpr size_t kMaxRelays = 3;

struct BlockSummary {
  int64_t first_step = 0;
  int64_t last_step = 0;
  int steps_used = 0;
  double step_seconds = 0;    // typical, replayed
  double healed_seconds = 0;  // without all that the search found
  // By participant; see `rank_slots`.
  std::vector<int32_t> rank_slots;
  std::vector<float> own_seconds;
  std::vector<float> peer_seconds;     // median of its peers; -1 = no peers
  std::vector<float> relative_excess;  // (own - peers) / max(peers, kOwnFloor x step); 0 = no peers
  std::vector<BlockCulprit> culprits;
};

// Own times below this share of the step are compared as if they were this long: resolution, not signal.
inline constexpr double kOwnFloor = 0.05;

BlockSummary SummarizeBlock(const TypicalStep& typical, const StepSearch& search, const OperationHistory& history,
                            const std::vector<Communicator>& communicators, const BlockOfSteps& block);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_BLOCK_SUMMARY_H_
