#include "eval/scoring/confidence_interval.h"

#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ConfidenceIntervalTest, WilsonGivesThePublishedValues) {
  // Newcombe 1998, table I: 81 of 263 and 15 of 148.
  EXPECT_NEAR(WilsonInterval(81, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(WilsonInterval(81, 263).high, 0.3662, 5e-5);
  EXPECT_NEAR(WilsonInterval(15, 148).low, 0.0624, 5e-5);
  EXPECT_NEAR(WilsonInterval(15, 148).high, 0.1605, 5e-5);
}

TEST(ConfidenceIntervalTest, AllOrNoneStillLeaveDoubt) {
  EXPECT_EQ(WilsonInterval(0, 1000).low, 0);
  EXPECT_NEAR(WilsonInterval(0, 1000).high, 0.00383, 1e-5);
  EXPECT_EQ(WilsonInterval(20, 20).high, 1);
  EXPECT_NEAR(WilsonInterval(20, 20).low, 0.8389, 1e-4);
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(ConfidenceIntervalTest, EveryGroupWeighsTheSame) {
  EXPECT_DOUBLE_EQ(MeanOfGroupMeans({{1, 1, 1, 1, 1, 1}, {0}, {}}), 0.5);
  EXPECT_EQ(MeanOfGroupMeans({}), 0);
}

TEST(ConfidenceIntervalTest, TheBootstrapCoversTheTruthAboutAsOftenAsItSays) {
  int covered = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<uint64_t>(trial) + 1);
    std::vector<std::vector<double>> groups(2);
    for (int i = 0; i < 60; ++i) groups[0].push_back(random.Unit() < 0.7 ? 1 : 0);
    for (int i = 0; i < 60; ++i) groups[1].push_back(random.Unit() < 0.5 ? 1 : 0);
    const Interval interval = BootstrapInterval(groups);
    covered += interval.low <= 0.6 && 0.6 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 176);
  EXPECT_LE(covered, 199);
}

TEST(ConfidenceIntervalTest, PercentilesAreValuesThatOccurred) {
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0.51), 3);
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace lockstep
