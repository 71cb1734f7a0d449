// From the operation records of a job to its steps and its slow ranks: the operation-timing stream of the detector.
//
// Composes the parts of this folder: every rank's timeline, the operations matched over members, the step clock, and,
// block of steps by block of steps, fold -> search -> remember. The anchor, whose operations delimit steps, is the
// largest communicator that is in use; ranks outside of it are not compared. A block is folded as soon as all members
// of the anchor have reported beyond it, whatever the order of their reports. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_COLLECTIVE_ANALYSIS_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_COLLECTIVE_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "detector/collectives/operation_history.h"
#include "detector/collectives/rank_timeline.h"
#include "detector/collectives/slow_rank.h"
#include "detector/collectives/step_clock.h"
#include "detector/collectives/step_search.h"
#include "detector/input.h"
#include "detector/roster.h"

namespace lockstep {

struct CollectiveAnalysisOptions {
  StepSearchOptions search;
  SlowRankOptions slow;
  int max_instances = 512;
  int64_t max_participations = 8'000'000;
};

class CollectiveAnalysis {
 public:
  explicit CollectiveAnalysis(const CollectiveAnalysisOptions& options);

  // The operations of one communicator of a rank, before Finish. `operations` must outlive Finish.
  void Collect(const Roster::Place& place, const CommunicatorView& view);
  // Ends a rank: takes in what was collected for it. `incomplete` = records were lost on the way.
  void Finish(Roster* roster, int32_t rank_slot, bool incomplete);
  // After every report.
  void Advance(const Roster& roster, int64_t received_ns);

  int32_t anchor_slot() const { return anchor_slot_; }
  const StepClock& clock() const { return clock_; }
  SlowRankFinder& slow_ranks() { return slow_ranks_; }
  const SlowRankFinder& slow_ranks() const { return slow_ranks_; }
  uint64_t records() const { return records_; }
  uint64_t discarded() const { return discarded_ + history_.discarded() + history_.given_up(); }
  // Blocks in a row that could not be judged because records or times are missing.
  int unusable_blocks() const { return unusable_blocks_; }
  int64_t newest_step() const { return newest_step_; }

 private:
  struct PlacedOperation {
    int64_t start_ns;
    const Operation* operation;
    Roster::Place place;
    bool hole_before;  // records of this communicator are missing before it
  };

  void ChooseAnchor(const Roster& roster, int64_t received_ns);
  void StartBlock(const Roster& roster, int64_t first_step);
  void FoldReadyBlocks(const Roster& roster);
  void Feed(Roster* roster, int32_t rank_slot, const PlacedOperation& placed);

  CollectiveAnalysisOptions options_;
  OperationHistory history_;
  std::vector<RankTimeline> timelines_;  // by rank slot
  std::vector<PlacedOperation> collected_;
  StepClock clock_;
  SlowRankFinder slow_ranks_;
  int32_t anchor_slot_ = -1;
  int32_t clock_rank_slot_ = -1;
  size_t communicators_at_look_ = 0;
  int64_t look_again_ns_ = 0;
  BlockOfSteps block_;  // that is being waited for; anchor_slot -1 = none yet
  uint64_t block_end_sequence_ = 0;
  int32_t members_beyond_ = 0;  // members of the anchor that have reported up to block_end_sequence_
  int64_t newest_step_ = -1;
  int unusable_blocks_ = 0;
  uint64_t records_ = 0;
  uint64_t discarded_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_COLLECTIVE_ANALYSIS_H_
