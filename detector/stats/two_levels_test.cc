#include "detector/stats/two_levels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(TwoLevelsTest, SplitsBetweenThem) {
  const TwoLevels levels = SplitTwoLevels(std::vector<double>{1, 1.1, 0.9 + 0.3, 2, 2.2});
  EXPECT_EQ(levels.at, 3u);
  EXPECT_NEAR(levels.lower, 1.1, 1e-12);
  EXPECT_NEAR(levels.higher, 2.1, 1e-12);
  EXPECT_NEAR(levels.within, std::sqrt(0.04 / 3), 1e-12);
}

TEST(TwoLevelsTest, OneValueHasNone) {
  EXPECT_EQ(SplitTwoLevels({}).at, 0u);
  EXPECT_EQ(SplitTwoLevels(std::vector<double>{3}).at, 0u);
  EXPECT_EQ(SplitTwoLevels(std::vector<double>{3, 3, 3}).at, 0u);
}

TEST(TwoLevelsTest, AgreesWithTryingEverySplit) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(2 + random.Below(20));
    for (double& value : values) value = random.Gaussian();
    std::sort(values.begin(), values.end());
    double least = HUGE_VAL;
    for (size_t at = 1; at < values.size(); ++at) {
      double left = 0;
      for (const auto& [first, last] : {std::pair<size_t, size_t>{0, at}, {at, values.size()}}) {
        double mean = 0;
        for (size_t i = first; i < last; ++i) mean += values[i] / static_cast<double>(last - first);
        for (size_t i = first; i < last; ++i) left += (values[i] - mean) * (values[i] - mean);
      }
      least = std::min(least, left);
    }
    const TwoLevels levels = SplitTwoLevels(values);
    if (values.size() < 3) continue;
    EXPECT_NEAR(levels.within * levels.within * static_cast<double>(values.size() - 2), least, 1e-9);
  }
}

}  // namespace
}  // namespace lockstep
