// That the other methods find what they are known to find, and miss what they are known to miss: an empty baseline
// would make every comparison look good.

#include "eval/patterns/pattern_baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/patterns/rank_patterns.h"
#include "eval/patterns/pattern_method.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Ranks with one matrix product each, which takes so long a call, a hundred times per second.
PatternFleet FleetOf(const std::vector<double>& mean_seconds) {
  PatternFleet fleet;
  for (size_t rank = 0; rank < mean_seconds.size(); ++rank) {
    RankPatterns patterns;
    patterns.rank = static_cast<int32_t>(rank);
    patterns.window_seconds = 10;
    patterns.functions = {{.kind = FunctionKind::kGpuCompute,
                           .name = "gemm",
                           .beta = 100 * mean_seconds[rank],
                           .calls_per_second = 100,
                           .mean_seconds = mean_seconds[rank],
                           .spread = 0.2}};
    fleet.Add(patterns);
  }
  return fleet;
}

// 32 ranks that differ by a few percent, but for `slow` of them from rank 7 on.
std::vector<double> Durations(size_t slow, double slow_seconds) {
  std::vector<double> seconds;
  for (size_t rank = 0; rank < 32; ++rank) {
    const bool is_slow = rank >= 7 && rank < 7 + slow;
    seconds.push_back(is_slow ? slow_seconds : 0.003 + 0.00002 * static_cast<double>(rank % 5));
  }
  return seconds;
}

void ExpectNamed(const std::vector<PatternAnswer>& answers, int32_t rank) {
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].pattern_class, PatternClass::kSlowKernel);
  EXPECT_FALSE(answers[0].of_all);
  EXPECT_THAT(answers[0].ranks, ElementsAre(rank));
  EXPECT_EQ(answers[0].function, 0);
}

TEST(PatternBaselinesTest, EachNamesTheOneRankThatIsTwiceAsSlow) {
  const PatternFleet fleet = FleetOf(Durations(1, 0.006));
  ExpectNamed(JudgeByThreeSigma(fleet), 7);
  ExpectNamed(JudgeByDbscan(fleet), 7);
  ExpectNamed(JudgeByShareThatDiffers(fleet), 7);
}

TEST(PatternBaselinesTest, NoneNamesAnybodyWhereAllAreAlike) {
  const PatternFleet fleet = FleetOf(Durations(0, 0));
  EXPECT_THAT(JudgeByThreeSigma(fleet), IsEmpty());
  EXPECT_THAT(JudgeByDbscan(fleet), IsEmpty());
  EXPECT_THAT(JudgeByShareThatDiffers(fleet), IsEmpty());
}

TEST(PatternBaselinesTest, ThreeSigmaIsBlindToMany) {
  const PatternFleet fleet = FleetOf(Durations(8, 0.006));
  EXPECT_THAT(JudgeByThreeSigma(fleet), IsEmpty()) << "what is slow widens sigma itself";
  ASSERT_THAT(JudgeByDbscan(fleet), SizeIs(1));
  EXPECT_THAT(JudgeByDbscan(fleet)[0].ranks, SizeIs(8)) << "no cluster of half of all: noise";
}

TEST(PatternBaselinesTest, NoneSeesWhatIsWrongOnAll) {
  std::vector<double> seconds(32, 0.009);
  EXPECT_THAT(JudgeByThreeSigma(FleetOf(seconds)), IsEmpty());
  EXPECT_THAT(JudgeByDbscan(FleetOf(seconds)), IsEmpty());
  EXPECT_THAT(JudgeByShareThatDiffers(FleetOf(seconds)), IsEmpty());
}

TEST(PatternBaselinesTest, WhatTakesAHundredthOfTheTimeAtMostIsNoAnswer) {
  const PatternFleet fleet = FleetOf([] {
    std::vector<double> seconds(32, 0.00004);
    seconds[7] = 0.00009;
    return seconds;
  }());
  EXPECT_THAT(JudgeByThreeSigma(fleet), IsEmpty());
  EXPECT_THAT(JudgeByDbscan(fleet), IsEmpty());
}

TEST(PatternBaselinesTest, AllAreAmongTheMethodsThatAreRun) {
  const PatternFleet fleet = FleetOf(Durations(1, 0.006));
  ASSERT_THAT(AllPatternMethods(), SizeIs(4));
  for (const PatternMethod& method : AllPatternMethods()) EXPECT_THAT(method.judge(fleet), SizeIs(1)) << method.name;
}

}  // namespace
}  // namespace lockstep
