#include "detector/investigation/step_level.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr int64_t kTickNs = kNanosPerSecond / 2;

// Feeds `seconds` of a job with steps of `step_seconds`.
struct Player {
  StepLevel level;
  Random random{1};
  int64_t now_ns = 100 * kNanosPerSecond;
  int slower_ticks = 0;

  void Play(double seconds, double step_seconds, double noise = 0, bool found = false, uint64_t unit = 1) {
    for (const int64_t end_ns = now_ns + static_cast<int64_t>(seconds * kNanosPerSecond); now_ns < end_ns;) {
      now_ns += kTickNs;
      level.Observe(now_ns, step_seconds * (1 + noise * random.Gaussian()), unit, found);
      slower_ticks += level.slower() ? 1 : 0;
    }
  }
};

TEST(StepLevelTest, LongerStepsAreSlowerAfterThreeSecondsUntilTheyAreNot) {
  Player player;
  player.Play(20, 0.1, 0.01);
  EXPECT_NEAR(player.level.usual_seconds(), 0.1, 0.002);
  player.Play(2.5, 0.13);
  EXPECT_FALSE(player.level.slower());
  player.Play(2, 0.13);
  EXPECT_TRUE(player.level.slower());
  EXPECT_NEAR(player.level.lost_seconds(), 0.03, 0.002);
  player.Play(1, 0.1);
  EXPECT_FALSE(player.level.slower());
  EXPECT_EQ(player.level.lost_seconds(), 0);
}

TEST(StepLevelTest, NoiseAndSingleLongStepsAreUsual) {
  Player player;
  player.Play(600, 0.1, 0.08);
  for (int i = 0; i < 20; ++i) {
    player.Play(2, 0.5);
    player.Play(20, 0.1, 0.08);
  }
  EXPECT_EQ(player.slower_ticks, 0);
}

TEST(StepLevelTest, WhatNobodyExplainsIsUsualAfterTenMinutes) {
  Player player;
  player.Play(20, 0.1);
  player.Play(590, 0.2);
  EXPECT_TRUE(player.level.slower());
  player.Play(30, 0.2);
  EXPECT_FALSE(player.level.slower());
  EXPECT_NEAR(player.level.usual_seconds(), 0.2, 1e-9);
  player.Play(3000, 0.3, 0, /*found=*/true);
  EXPECT_TRUE(player.level.slower());
}

TEST(StepLevelTest, StepsCountedInAnotherWayBeginAnew) {
  Player player;
  player.Play(20, 0.1);
  player.Play(20, 0.2, 0, false, /*unit=*/2);
  EXPECT_FALSE(player.level.slower());
  EXPECT_NEAR(player.level.usual_seconds(), 0.2, 1e-9);
}

}  // namespace
}  // namespace lockstep
