// Which ranks are slow: effect, persistence, significance and impact over the recent blocks of steps.
//
// A rank is accused when, over the newest 8, 10, 12 ... blocks (at most `window_blocks`),
//   effect: the median of its own time is at least `min_own_time_ratio` x that of its peers,
//   persistence: the search ended at it in at least `min_persistence` of the blocks, which span long enough,
//   significance: the effect is RequiredSignificance standard errors of a median, the noise being that of all ranks,
//   impact: healing it would give back at least `min_step_cost` of the step time.
// Gross effects are seen in the shortest window, subtle ones need a longer one: the time to an alarm follows the
// effect. An accusation holds until the newest 8 blocks no longer show half of it. Bounded by `window_blocks`.
// Abstains (names nobody) below `min_steps` steps or without peers. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_RANK_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_RANK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "detector/collectives/block_summary.h"

namespace lockstep {

struct SlowRankOptions {
  double min_own_time_ratio = 1.10;
  double min_step_cost = 0.03;
  double min_persistence = 0.80;
  int min_steps = 12;
  int window_blocks = 40;
  double min_span_seconds = 2.0;
  double min_significance = 6.0;  // standard errors, with kSignificanceRanks
  double min_weak_share = 0.5;    // of the effect, in the weakest quarter of the blocks
};

// Among few ranks chance reaches less high than among many: the chance of accusing anybody in a healthy job is the same
// at every size when the square of the limit grows by 2 ln(ranks), as that of the largest of so many deviations does.
// Below kManyBlocks blocks, which a rank that is slow for a moment now and then may fill, nothing is given away.
// 4.6 with four ranks, 5.1 with 64, 6 with 8,192, if that is the limit there.
inline constexpr double kSignificanceRanks = 8192;
inline constexpr size_t kManyBlocks = 16;
double RequiredSignificance(double min_significance, size_t ranks, size_t window);

struct SlowRank {
  int32_t rank_slot = -1;
  int64_t first_step = 0;  // since when
  int64_t last_step = 0;
  int steps = 0;  // of the window that convicted it, or of the newest blocks later
  double own_seconds = 0;
  double peer_seconds = 0;
  int peers = 0;
  double step_seconds = 0;
  double saved_seconds = 0;
  double share_of_blocks = 0;
  double significance = 0;
  int times_last = 0;
  double wait_seconds = 0;
  BlockCulprit newest;  // where its delay enters, in the newest block that named it
};

class SlowRankFinder {
 public:
  explicit SlowRankFinder(const SlowRankOptions& options) : options_(options) {}

  void Add(BlockSummary block);

  // All ranks that are slow now, by slot.
  std::vector<SlowRank> Find();

  void Clear();
  const std::deque<BlockSummary>& blocks() const { return blocks_; }

 private:
  bool Convict(int32_t participant, size_t window, SlowRank* found) const;
  bool StillHolds(int32_t participant, const SlowRank& held, SlowRank* now) const;
  double Noise(size_t window) const;

  SlowRankOptions options_;
  std::deque<BlockSummary> blocks_;   // oldest first
  std::map<int32_t, SlowRank> held_;  // by participant, as convicted
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_SLOW_RANK_H_
