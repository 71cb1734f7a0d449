// The statistics of the detector by their definitions: whole histories, plain sorts. Pure.

#ifndef LOCKSTEP_DETECTOR_TESTING_REFERENCE_STATISTICS_H_
#define LOCKSTEP_DETECTOR_TESTING_REFERENCE_STATISTICS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "detector/collectives/block_summary.h"
#include "detector/collectives/slow_rank.h"

namespace lockstep {

// The middle of the sorted values, or the mean of the two in the middle.
double ReferenceMedian(std::vector<double> values);

struct ReferenceConviction {
  size_t window = 0;  // blocks
  double own_seconds = 0;
  double effect = 0;
  double significance = 0;
  double share_of_blocks = 0;
};

// Ranks that the newest block names and that the shortest window convicts which does, by slot: SlowRankFinder::Find on
// a finder that holds nothing yet. All participants must have peers.
std::map<int32_t, ReferenceConviction> ReferenceSlowRanks(const std::deque<BlockSummary>& blocks,
                                                          const SlowRankOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_REFERENCE_STATISTICS_H_
