#include "detector/stats/sampled_mean.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(SpreadOrderTest, TakesEveryPlaceOnce) {
  for (size_t count = 0; count <= 70; ++count) {
    std::vector<size_t> order = SpreadOrder(count, count);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(SpreadOrderTest, AnyBeginningIsSpreadEvenly) {
  EXPECT_EQ(SpreadOrder(11, 3), (std::vector<size_t>{5, 2, 8})) << "the middle, then the quarters";
  const std::vector<size_t> order = SpreadOrder(64, 64);
  for (const size_t taken : {4u, 8u, 16u, 32u}) {
    std::vector<size_t> quarter(4, 0);
    for (size_t i = 0; i < taken; ++i) ++quarter[order[i] / 16];
    for (const size_t in_quarter : quarter) EXPECT_NEAR(in_quarter, taken / 4, 1) << taken;
  }
}

TEST(SampledMeanTest, IsSettledByAllValuesOrByThreeThatAreAlikeAndFarAway) {
  SampledMean mean;
  for (const double value : {0.2, 0.21}) {
    mean.Add(value);
    EXPECT_FALSE(mean.Settled(0.03, 10));
  }
  EXPECT_TRUE(mean.Settled(0.03, 2)) << "there are no more";
  mean.Add(0.19);
  EXPECT_DOUBLE_EQ(mean.mean(), 0.2);
  EXPECT_TRUE(mean.Settled(0.03, 10));
  EXPECT_FALSE(mean.Settled(0.19, 10));
}

TEST(SampledMeanTest, TheLastMayBeFarFromTheOthers) {
  SampledMean mean;
  for (const double value : {0.0310, 0.0272, 0.0241, 0.0308, 0.0259, 0.0258}) mean.Add(value);
  EXPECT_FALSE(mean.Settled(0.03, 7));
  mean.Add(0.0507);
  EXPECT_GT(mean.mean(), 0.03);
}

TEST(SampledMeanTest, SettlesOnTheWrongSideSeldom) {
  Random random(1);
  int settled = 0, wrong = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<double> values;
    double sum = 0;
    for (int i = 0; i < 10; ++i) sum += values.emplace_back(0.04 + 0.015 * random.Gaussian());
    SampledMean mean;
    for (size_t i = 0; i < values.size() && !mean.Settled(0.035, values.size()); ++i) mean.Add(values[i]);
    settled += mean.size() < values.size();
    wrong += (mean.mean() > 0.035) != (sum / 10 > 0.035);
  }
  EXPECT_GT(settled, 1'000);
  EXPECT_LT(wrong, 600);
}

}  // namespace
}  // namespace lockstep
