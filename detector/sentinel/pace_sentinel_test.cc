#include "detector/sentinel/pace_sentinel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

double NormalStep(Random& random, double mean, double deviation) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.Below(1 << 20)) / (1 << 20);
  return mean * (1 + deviation * sum);
}

// Steps until a change is told, at most `most`; -1 = none.
int StepsToChange(PaceSentinel& sentinel, Random& random, double mean, double deviation, int most) {
  for (int step = 1; step <= most; ++step) {
    if (sentinel.Observe(NormalStep(random, mean, deviation))) return step;
  }
  return -1;
}

TEST(PaceSentinelTest, SteadyStepsAreNoChange) {
  int changes = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    PaceSentinel sentinel;
    for (int step = 0; step < 5000; ++step) changes += sentinel.Observe(NormalStep(random, 2.0, 0.1)) ? 1 : 0;
    EXPECT_FALSE(sentinel.slower()) << seed;
    EXPECT_NEAR(sentinel.usual_seconds(), 2.0, 0.05);
  }
  EXPECT_LE(changes, 5);  // of 100,000 steps
}

TEST(PaceSentinelTest, GrossChangesShowInThreeStepsAndSubtleOnesInMore) {
  struct Row {
    double deviation, factor;
    int most;
  };
  for (const Row& row : {Row{0.01, 1.4, 3}, Row{0.01, 1.05, 5}, Row{0.05, 1.2, 8}, Row{0.05, 1.08, 55}}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Random random(seed);
      PaceSentinel sentinel;
      ASSERT_EQ(StepsToChange(sentinel, random, 1.0, row.deviation, 200), -1);
      const int steps = StepsToChange(sentinel, random, row.factor, row.deviation, 200);
      EXPECT_GT(steps, 0) << row.factor;
      EXPECT_LE(steps, row.most) << row.factor << " at " << row.deviation;
      EXPECT_TRUE(sentinel.slower());
      EXPECT_NEAR(sentinel.usual_seconds(), 1.0, 0.03);
    }
  }
}

TEST(PaceSentinelTest, SpikesOfSingleStepsAreNoChange) {
  Random random(3);
  PaceSentinel sentinel;
  for (int step = 0; step < 2000; ++step) {
    const double spike = step % 40 == 17 ? 20 : 1;
    EXPECT_FALSE(sentinel.Observe(NormalStep(random, spike, 0.02))) << step;
  }
  EXPECT_FALSE(sentinel.slower());
}

TEST(PaceSentinelTest, WhatBecomesQuickAgainIsUsualAgain) {
  Random random(4);
  PaceSentinel sentinel;
  ASSERT_EQ(StepsToChange(sentinel, random, 1.0, 0.02, 100), -1);
  EXPECT_GT(StepsToChange(sentinel, random, 1.5, 0.02, 20), 0);
  ASSERT_EQ(StepsToChange(sentinel, random, 1.5, 0.02, 100), -1);
  EXPECT_TRUE(sentinel.slower());
  EXPECT_NEAR(sentinel.lost_seconds(), 0.5, 0.05);
  EXPECT_GT(StepsToChange(sentinel, random, 1.0, 0.02, 20), 0);
  EXPECT_FALSE(sentinel.slower());
  EXPECT_EQ(sentinel.lost_seconds(), 0);
}

TEST(PaceSentinelTest, FasterThanEverIsAChangeAndTheNewUsual) {
  Random random(5);
  PaceSentinel sentinel;
  ASSERT_EQ(StepsToChange(sentinel, random, 1.5, 0.02, 100), -1);
  EXPECT_GT(StepsToChange(sentinel, random, 1.0, 0.02, 20), 0);
  ASSERT_EQ(StepsToChange(sentinel, random, 1.0, 0.02, 100), -1);
  EXPECT_NEAR(sentinel.usual_seconds(), 1.0, 0.02);
  EXPECT_GT(StepsToChange(sentinel, random, 1.5, 0.02, 20), 0);
  EXPECT_TRUE(sentinel.slower());
}

TEST(PaceSentinelTest, ASlowerLevelBecomesUsualUnlessSomebodyExplainsIt) {
  for (const bool explained : {false, true}) {
    Random random(6);
    PaceSentinel sentinel;
    ASSERT_EQ(StepsToChange(sentinel, random, 1.0, 0.02, 100), -1);
    int64_t now_ns = 0;
    for (int step = 0; step < 1000; ++step) {
      sentinel.Observe(NormalStep(random, 1.3, 0.02));
      sentinel.Advance(now_ns += kNanosPerSecond, explained);
    }
    EXPECT_EQ(sentinel.slower(), explained);
  }
}

}  // namespace
}  // namespace lockstep
