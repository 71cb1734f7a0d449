#include "eval/minder/metric_priority.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

struct Split {
  bool found = false;
  size_t metric = 0;
  float threshold = 0;  // rows at or below go left
  double gain = 0;      // Gini impurity removed, times rows
};

// Rows times Gini impurity.
double Impurity(double rows, double abnormal) { return rows > 0 ? 2 * abnormal * (rows - abnormal) / rows : 0; }

double CountAbnormal(absl::Span<const LabelledWindow* const> rows) {
  return static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](const LabelledWindow* row) { return row->abnormal; }));
}

Split BestSplitOn(size_t metric, std::vector<const LabelledWindow*> rows) {
  const auto value = [metric](const LabelledWindow* row) { return row->greatest_z[metric]; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const LabelledWindow* a, const LabelledWindow* b) { return value(a) < value(b); });
  const auto all = static_cast<double>(rows.size());
  const double all_abnormal = CountAbnormal(rows);
  Split best{.metric = metric};
  double left_abnormal = 0;
  for (size_t left = 1; left < rows.size(); ++left) {
    left_abnormal += rows[left - 1]->abnormal ? 1 : 0;
    if (left < kMinRowsPerLeaf || rows.size() - left < kMinRowsPerLeaf) continue;
    const float below = value(rows[left - 1]);
    const float above = value(rows[left]);
    if (!(below < above)) continue;
    const auto left_rows = static_cast<double>(left);
    const double gain = Impurity(all, all_abnormal) - Impurity(left_rows, left_abnormal) -
                        Impurity(all - left_rows, all_abnormal - left_abnormal);
    if (gain > best.gain + 1e-9) best = {true, metric, below + (above - below) / 2, gain};
  }
  return best;
}

class Tree {
 public:
  explicit Tree(size_t metrics) : depth_(metrics, kMaxPriorityDepth + 1), gain_(metrics, 0) {}

  void Grow(const std::vector<const LabelledWindow*>& rows, int depth) {
    Split best;
    for (size_t metric = 0; metric < depth_.size(); ++metric) {
      const Split split = BestSplitOn(metric, rows);
      if (depth == 0) gain_[metric] = split.gain;
      if (split.gain > best.gain + 1e-9) best = split;
    }
    if (!best.found) return;
    if (depth < depth_[best.metric]) {
      depth_[best.metric] = depth;
      gain_[best.metric] = best.gain;
    }
    if (depth + 1 >= kMaxPriorityDepth) return;
    std::vector<const LabelledWindow*> left;
    std::vector<const LabelledWindow*> right;
    for (const LabelledWindow* row : rows) {
      (row->greatest_z[best.metric] <= best.threshold ? left : right).push_back(row);
    }
    Grow(left, depth + 1);
    Grow(right, depth + 1);
  }

  std::vector<size_t> Order() const {
    std::vector<size_t> order(depth_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return std::tuple(depth_[a], -gain_[a]) < std::tuple(depth_[b], -gain_[b]);
    });
    return order;
  }

 private:
  std::vector<int> depth_;  // by metric: where the tree first asks for it
  std::vector<double> gain_;
};

}  // namespace

std::vector<size_t> LearnMetricPriority(size_t metrics, absl::Span<const LabelledWindow> windows) {
  std::vector<const LabelledWindow*> rows;
  for (const LabelledWindow& window : windows) {
    CHECK(window.greatest_z.size() == metrics);
    rows.push_back(&window);
  }
  Tree tree(metrics);
  tree.Grow(rows, 0);
  return tree.Order();
}

}  // namespace lockstep
