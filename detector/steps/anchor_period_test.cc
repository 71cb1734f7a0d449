#include "detector/steps/anchor_period.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// `steps` times the stretches of one step.
std::vector<int64_t> Repeat(const std::vector<int64_t>& step, int steps) {
  std::vector<int64_t> calls;
  for (int i = 0; i < steps; ++i) calls.insert(calls.end(), step.begin(), step.end());
  return calls;
}

// Gathers of `layers` layers forwards, then a gather and a reduce-scatter of each backwards.
std::vector<int64_t> Sharded(int64_t layers) {
  std::vector<int64_t> step(layers, 2);
  step.front() += layers;
  return step;
}

TEST(AnchorPeriodTest, OneAnchorPerStepIsTheRule) {
  EXPECT_EQ(AnchorsPerStep({}), 1u);
  EXPECT_EQ(AnchorsPerStep(Repeat({7}, 20)), 1u);
  EXPECT_EQ(AnchorsPerStep(Repeat({7, 8, 6}, 20)), 1u) << "about as long";
}

TEST(AnchorPeriodTest, TheForwardPassLiesInOneOfTheStretches) {
  EXPECT_EQ(AnchorsPerStep(Repeat({6, 2, 2, 2}, 20)), 4u);
  EXPECT_EQ(AnchorsPerStep(Repeat({2, 2, 6, 2}, 20)), 4u) << "wherever the records begin";
  for (const uint32_t layers : {2u, 3u, 12u, 96u}) EXPECT_EQ(AnchorsPerStep(Repeat(Sharded(layers), 4)), layers);
}

TEST(AnchorPeriodTest, ALostRecordHereAndThereChangesNothing) {
  std::vector<int64_t> calls = Repeat({6, 2, 2, 2}, 40);
  calls[17] = 1;
  calls.erase(calls.begin() + 50);
  EXPECT_EQ(AnchorsPerStep(calls), 4u);
}

TEST(AnchorPeriodTest, OfEightAnchorsOneMayBeLostAndOfFourNone) {
  const auto with_losses = [](uint32_t layers) {
    std::vector<int64_t> calls = Repeat(Sharded(layers), 20);
    for (const size_t step : {19, 16, 13, 10, 7, 4, 1}) {
      calls.erase(calls.begin() + static_cast<int64_t>(step * layers + 1));
    }
    return AnchorsPerStep(calls);
  };
  EXPECT_EQ(with_losses(8), 8u);
  EXPECT_EQ(with_losses(4), 1u);
}

TEST(AnchorPeriodTest, EvaluationsAndCheckpointsAreNoPartOfEachStep) {
  std::vector<int64_t> step(10, 12);
  step.front() += 12;  // an evaluation of three batches, every ten steps
  EXPECT_EQ(AnchorsPerStep(Repeat(step, 10)), 1u);
  std::vector<int64_t> calls = Repeat({4}, 60);
  for (const size_t at : {5, 17, 22, 41}) calls[at] = 30;
  EXPECT_EQ(AnchorsPerStep(calls), 1u) << "now and then";
}

TEST(AnchorPeriodTest, TwoLongStretchesAreNoRepetition) {
  EXPECT_EQ(AnchorsPerStep({6, 2, 2, 2, 6, 2, 2, 2}), 1u);
  EXPECT_EQ(AnchorsPerStep({6, 2, 2, 2, 6, 2, 2, 2, 6}), 4u);
}

// Four buckets of one size per step, of which those of the first step come late as well.
TEST(AnchorPeriodTest, AStepThatWarmsUpIsOne) {
  std::vector<int64_t> times = {205, 205, 200, 1471};
  for (int step = 0; step < 6; ++step) times.insert(times.end(), {26, 26, 26, 1180});
  EXPECT_EQ(AnchorsPerStep(times), 4u);
  const std::vector<char> is_long = LongStretches(times);
  EXPECT_THAT(std::vector<char>(is_long.begin(), is_long.begin() + 8), ElementsAre(0, 0, 0, 1, 0, 0, 0, 1));
}

TEST(AnchorPeriodTest, LongIsTwiceTheUsual) {
  EXPECT_THAT(LongStretches({2, 4, 2, 3, 2, 9}), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(LongStretches({5, 2}), ElementsAre(1, 0)) << "of two, the usual one is the shorter";
  EXPECT_TRUE(LongStretches({}).empty());
}

}  // namespace
}  // namespace lockstep
