// In which order to look at metrics: a decision tree that tells abnormal windows from normal ones (Minder,
// section 4.3).
//
// Each window of a job gives one row: for every metric the greatest |z| over machines. A tree of the kind of Breiman et
// al. (CART, 1984; Gini impurity, binary splits at midpoints) is grown on labelled rows; metrics near its root come
// first. Metrics of equal depth are ordered by the impurity that they remove, metrics the tree does not use by what the
// best single split on them would remove from the whole. Cost: O(metrics * rows log rows) per level. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_METRIC_PRIORITY_H_
#define LOCKSTEP_EVAL_MINDER_METRIC_PRIORITY_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

inline constexpr int kMaxPriorityDepth = 6;
inline constexpr size_t kMinRowsPerLeaf = 5;

struct LabelledWindow {
  std::vector<float> greatest_z;  // one per metric; 0 where unknown
  bool abnormal = false;
};

// Indices of all metrics, first = looked at first. Rows that are all normal or all abnormal leave the order as it is.
std::vector<size_t> LearnMetricPriority(size_t metrics, absl::Span<const LabelledWindow> windows);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_METRIC_PRIORITY_H_
