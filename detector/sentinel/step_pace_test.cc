#include "detector/sentinel/step_pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

constexpr int64_t kMs = kNanosPerMilli;
constexpr CommunicatorId kTensor = 7;

// Operations `first` to `last` of a communicator of which each step has four, 25 ms apart.
CommunicatorView Calls(uint64_t first, uint64_t last, uint64_t stride = 1) {
  CommunicatorView view{.id = kTensor};
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    if (sequence % stride != 0) continue;
    const auto end_ns = static_cast<int64_t>(sequence) * 25 * kMs;
    view.operations.push_back(
        {.kind = OperationKind::kAllReduce, .sequence = sequence, .start_ns = end_ns - kMs, .end_ns = end_ns});
  }
  return view;
}

StepPace Following(std::vector<FollowedCalls> calls = {{3, kTensor, 4}}) {
  StepPace pace;
  pace.Follow(calls, 0, 0, 0);
  return pace;
}

TEST(StepPaceTest, NothingIsKnownBeforeALookHasSaidWhatToFollow) {
  StepPace pace;
  pace.Observe(3, Calls(1, 100), kNanosPerSecond);
  EXPECT_EQ(pace.steps(), 0);
  EXPECT_EQ(pace.MedianSeconds(), 0);
  EXPECT_EQ(pace.StepsPerSecond(), 0);
}

TEST(StepPaceTest, AStepLastsFromOneCallToTheOneAStepLaterHoweverReportsCutIt) {
  StepPace pace = Following();
  for (uint64_t first = 1; first <= 90; first += 9) pace.Observe(3, Calls(first, first + 8), kNanosPerSecond);
  EXPECT_EQ(pace.steps(), 22);
  EXPECT_NEAR(pace.MedianSeconds(), 0.1, 1e-9);
  EXPECT_NEAR(pace.StepsPerSecond(), 10, 1e-6);
  EXPECT_EQ(pace.TakeNew().size(), 22u);
  EXPECT_TRUE(pace.TakeNew().empty());
}

TEST(StepPaceTest, StepsBetweenALookAndTheFirstReportAfterItCountOnceHoweverOftenTheyAreReported) {
  StepPace pace;
  pace.Follow({{3, kTensor, 4, 40}}, 10, 0.1, 0);  // ten steps, until call 40
  pace.Observe(3, Calls(21, 60), kNanosPerSecond);
  EXPECT_EQ(pace.steps(), 15);
  EXPECT_NEAR(pace.LongestUsualSeconds(), 0.1, 1e-9);
  EXPECT_EQ(pace.TakeNew().size(), 4u) << "when the look's last step ended is not known on this clock";
  pace.Observe(3, Calls(41, 64), kNanosPerSecond);
  EXPECT_EQ(pace.steps(), 16);
}

TEST(StepPaceTest, OtherRanksAndCommunicatorsDoNotCount) {
  StepPace pace = Following();
  pace.Observe(4, Calls(1, 100), kNanosPerSecond);
  CommunicatorView other = Calls(1, 100);
  other.id = 8;
  pace.Observe(3, other, kNanosPerSecond);
  EXPECT_EQ(pace.steps(), 0);
}

TEST(StepPaceTest, ThinnedReportsGiveTheSameStepTimes) {
  for (const uint64_t stride : {2, 4, 8, 32}) {
    StepPace pace = Following();
    for (uint64_t first = 1; first <= 512; first += 64) pace.Observe(3, Calls(first, first + 63, stride), 1);
    EXPECT_NEAR(pace.MedianSeconds(), 0.1, 1e-9) << stride;
    EXPECT_NEAR(static_cast<double>(pace.steps()), 127, 8) << stride;
  }
}

TEST(StepPaceTest, AGapOfManyStepsCountsStepsButSaysNothingOfTheirTimes) {
  StepPace pace = Following();
  pace.Observe(3, Calls(1, 9), 1);
  pace.Observe(3, Calls(801, 809), 2);
  EXPECT_EQ(pace.steps(), 202);
  EXPECT_NEAR(pace.LongestUsualSeconds(), 0.1, 1e-9);
}

TEST(StepPaceTest, AnotherRankTakesOverWhenTheFirstFallsSilent) {
  StepPace pace = Following({{3, kTensor, 4}, {9, kTensor, 4}});
  for (int64_t second = 1; second <= 20; ++second) {
    const auto first = static_cast<uint64_t>(second) * 40;
    if (second <= 10) pace.Observe(3, Calls(first, first + 39), second * kNanosPerSecond);
    pace.Observe(9, Calls(first, first + 39), second * kNanosPerSecond);
  }
  EXPECT_GE(pace.steps(), 130);  // of 200; ten steps a second, and five to ten seconds of patience
  EXPECT_LE(pace.steps(), 160);
  EXPECT_EQ(pace.newest_ns(), 20 * kNanosPerSecond);
}

TEST(StepPaceTest, TheSameCallsAgainForgetNothing) {
  StepPace pace = Following();
  pace.Observe(3, Calls(1, 40), 1);
  EXPECT_FALSE(pace.Follow({{5, kTensor, 4}, {3, kTensor, 4}}, 100, 0.5, 2));
  EXPECT_FALSE(pace.Follow({}, 100, 0.1, 2));
  EXPECT_NEAR(pace.MedianSeconds(), 0.1, 1e-9);
  EXPECT_EQ(pace.steps(), 9);
  EXPECT_TRUE(pace.Follow({{3, kTensor, 8}}, 5, 0.2, 2));
  EXPECT_EQ(pace.MedianSeconds(), 0);
  EXPECT_EQ(pace.steps(), 5);
}

TEST(StepPaceTest, OtherWitnessesOfStepsAsLongForgetNothingWhileTheFirstOneSpeaks) {
  StepPace pace = Following();
  pace.Observe(3, Calls(1, 40), kNanosPerSecond);
  EXPECT_FALSE(pace.Follow({{5, kTensor, 4}}, 100, 0.11, 2 * kNanosPerSecond));
  EXPECT_EQ(pace.steps(), 9);
  StepPace other_unit = pace;
  EXPECT_TRUE(other_unit.Follow({{5, kTensor, 8}}, 50, 0.2, 2 * kNanosPerSecond));
  EXPECT_EQ(other_unit.steps(), 50);
  EXPECT_TRUE(pace.Follow({{5, kTensor, 4}}, 100, 0.11, 20 * kNanosPerSecond)) << "nothing has been heard for long";
}

TEST(StepPaceTest, WhereNothingCanBeFollowedLooksCount) {
  StepPace pace;
  EXPECT_FALSE(pace.Follow({}, 0, 0, kNanosPerSecond)) << "a look that knows no steps";
  EXPECT_EQ(pace.steps(), 0);
  EXPECT_FALSE(pace.Follow({}, 12, 0.4, 10 * kNanosPerSecond));
  EXPECT_EQ(pace.steps(), 12);
  EXPECT_DOUBLE_EQ(pace.MedianSeconds(), 0.4);
  for (int64_t look = 1; look <= 10; ++look) EXPECT_FALSE(pace.Follow({}, 12, 0.4, (10 + look) * kNanosPerSecond));
  EXPECT_EQ(pace.steps(), 12 + 25) << "parts of steps add up";
  EXPECT_FALSE(pace.Follow({}, 12, 0.8, 28 * kNanosPerSecond));
  EXPECT_EQ(pace.steps(), 12 + 25 + 10);
  EXPECT_DOUBLE_EQ(pace.RecentSeconds(), 0.8) << "of the newest look";
  EXPECT_TRUE(pace.TakeNew().empty()) << "looks overlap: they are no steps for a sentinel";
}

TEST(StepPaceTest, WildSequencesAndTimesNeitherCrashNorGrow) {
  StepPace pace = Following();
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    CommunicatorView view{.id = kTensor};
    view.operations.push_back({.kind = static_cast<OperationKind>(random.Below(14)),
                               .sequence = random.Next() >> random.Below(64),
                               .end_ns = static_cast<int64_t>(random.Next() >> 2)});
    pace.Observe(3, view, i);
    EXPECT_GE(pace.MedianSeconds(), 0);
  }
  EXPECT_LE(pace.TakeNew().size(), StepPace::kKeptSteps);
}

}  // namespace
}  // namespace lockstep
