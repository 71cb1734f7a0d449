#include "detector/counters/work_sums.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kTicks = static_cast<int>(WorkSums::kSeconds);

// Work of a job in steps of four seconds.
float Level(int second) { return second % 4 == 3 ? 30 : 3; }

TEST(WorkSumsTest, StepsAndMomentsOfSamplingDoNotShow) {
  WorkSums sums;
  for (int second = 0; second < kTicks; ++second) {
    // The second unit sees each burst a second later, the third does a tenth less.
    const std::vector<float> values = {Level(second), Level(second + 3), 0.9f * Level(second)};
    EXPECT_EQ(sums.Add(values, Level(second), 1), second == kTicks - 1);
  }
  ASSERT_EQ(sums.levels().size(), 3u);
  EXPECT_NEAR(sums.levels()[0], (3 * 3 + 30) / 4.0, 1e-3);
  EXPECT_NEAR(sums.levels()[1], sums.levels()[0], 1e-3);
  EXPECT_NEAR(sums.levels()[2], 0.9 * sums.levels()[0], 1e-3);
}

TEST(WorkSumsTest, OneWildReadingIsNothing) {
  WorkSums sums;
  for (int second = 0; second < kTicks; ++second) {
    const float level = Level(second);
    sums.Add({{level, second == 6 ? 0 : level, second == 7 ? 300 : level}}, level, 1);
  }
  EXPECT_NEAR(sums.levels()[1], sums.levels()[0], 1e-3);
  EXPECT_NEAR(sums.levels()[2], sums.levels()[0], 1e-3);
}

TEST(WorkSumsTest, MissingReadingsDoNotLookLikeLessWorkAndTheLevelOfAllIsKept) {
  WorkSums sums;
  for (int second = 0; second < 2 * kTicks; ++second) {
    const float level = second < kTicks ? Level(second) : 0.5f * Level(second);
    // The second unit's bursts are not known, of the third most is not.
    sums.Add({{level, second % 4 == 3 ? kNan : level, second % 4 == 0 ? level : kNan}}, level, 1);
  }
  EXPECT_NEAR(sums.levels()[0], 0.5 * (3 * 3 + 30) / 4.0, 1e-3);
  EXPECT_NEAR(sums.levels()[1], sums.levels()[0], 1e-3);
  EXPECT_TRUE(std::isnan(sums.levels()[2]));
}

TEST(WorkSumsTest, BeginsAnewAfterARestartAndIgnoresTicksWithoutMedian) {
  WorkSums sums;
  for (int second = 0; second < kTicks - 1; ++second) sums.Add({{1, 1}}, 1, 1);
  sums.Restart();
  EXPECT_FALSE(sums.Add({{5, 10}}, 5, 1));
  EXPECT_FALSE(sums.Add({{kNan, kNan}}, std::numeric_limits<double>::quiet_NaN(), 1));
  for (int second = 0; second < kTicks - 2; ++second) EXPECT_FALSE(sums.Add({{5, 10}}, 5, 1));
  EXPECT_TRUE(sums.Add({{5, 10}}, 5, 1));
  EXPECT_NEAR(sums.levels()[0], 5, 1e-3);
  EXPECT_NEAR(sums.levels()[1], 10, 1e-3);
}

TEST(WorkSumsTest, WhereNobodyWorksNothingIsSaid) {
  WorkSums sums;
  for (int second = 0; second < kTicks; ++second) sums.Add({{0, 1}}, 0, 1);
  EXPECT_TRUE(std::isnan(sums.levels()[0]));
  EXPECT_TRUE(std::isnan(sums.levels()[1]));
}

}  // namespace
}  // namespace lockstep
