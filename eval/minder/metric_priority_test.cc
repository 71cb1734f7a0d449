#include "eval/minder/metric_priority.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Abnormal windows show in metric 2 always, in metric 0 in a quarter of the cases where metric 2 hides, never in 1.
std::vector<LabelledWindow> Windows(uint64_t seed) {
  Random random(seed);
  std::vector<LabelledWindow> windows;
  for (int i = 0; i < 400; ++i) {
    LabelledWindow window;
    for (int metric = 0; metric < 3; ++metric) window.greatest_z.push_back(static_cast<float>(2 + random.Unit()));
    window.abnormal = i % 4 == 0;
    if (window.abnormal) window.greatest_z[i % 5 == 0 ? 0 : 2] += 4;
    windows.push_back(window);
  }
  return windows;
}

TEST(MetricPriorityTest, TheMetricThatTellsMostComesFirst) {
  const std::vector<size_t> expected = {2, 0, 1};
  EXPECT_EQ(LearnMetricPriority(3, Windows(1)), expected);
  EXPECT_EQ(LearnMetricPriority(3, Windows(2)), expected);
}

TEST(MetricPriorityTest, WithoutBothKindsTheOrderStays) {
  std::vector<LabelledWindow> windows = Windows(3);
  for (LabelledWindow& window : windows) window.abnormal = false;
  const std::vector<size_t> given = {0, 1, 2};
  EXPECT_EQ(LearnMetricPriority(3, windows), given);
  EXPECT_EQ(LearnMetricPriority(3, {}), given);
}

TEST(MetricPriorityTest, FewWindowsAreNoEvidence) {
  const std::vector<LabelledWindow> windows = {{{0, 9}, true}, {{0, 1}, false}, {{0, 1}, false}};
  EXPECT_EQ(LearnMetricPriority(2, windows), (std::vector<size_t>{0, 1}));
}

TEST(MetricPriorityTest, EqualValuesCannotBeSplit) {
  std::vector<LabelledWindow> windows(40, LabelledWindow{{1, 1}, false});
  for (size_t i = 0; i < windows.size(); i += 2) windows[i].abnormal = true;
  EXPECT_EQ(LearnMetricPriority(2, windows), (std::vector<size_t>{0, 1}));
}

}  // namespace
}  // namespace lockstep
