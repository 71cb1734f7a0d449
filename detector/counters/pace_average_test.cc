#include "detector/counters/pace_average.h"

#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kMemorySeconds = 300;
constexpr int kParts = 10;  // of a second, in which power is averaged

// Power of a job in steps of `step_seconds`, three quarters of them computing.
class PaceAverageTest : public ::testing::Test {
 protected:
  void BeginJob() {
    average_ = PaceAverage();
    usual_ = 0;
    second_ = 0;
  }

  // Second at which it is slower for the first time, or -1. `slow_seconds` counts those at which it is. Of how many it
  // seems so is in seeming_seconds_.
  int64_t Run(int64_t seconds, double step_seconds, double level, double noise, int* slow_seconds = nullptr) {
    for (int64_t i = 0; i < seconds; ++i, ++second_) {
      double power = 0;
      for (int part = 0; part < kParts; ++part) {
        const double place = (static_cast<double>(second_) + (part + 0.5) / kParts) / step_seconds;
        power += (place - std::floor(place) < 0.75 ? 640.0 : 420.0) / kParts;
      }
      const double value = level * power * (1 + noise * random_.Gaussian());
      if (usual_ == 0) usual_ = 585;
      average_.Add(value);
      const Slowness slowness = average_.SlowerThan(usual_, 1);
      const bool slower = slowness.share > 0;
      if (slowness.seeming > 0) ++seeming_seconds_;
      if (slower && slow_seconds == nullptr) return second_;
      if (slower) ++*slow_seconds;
      usual_ += (value - usual_) / kMemorySeconds;
      average_.LearnDeviation(usual_, 1 / kMemorySeconds);
    }
    return -1;
  }

  Random random_{1};
  PaceAverage average_;
  double usual_ = 0;
  int64_t second_ = 0;
  int seeming_seconds_ = 0;
};

TEST_F(PaceAverageTest, StepsOfAnyLengthAreNoChangeOfPace) {
  for (const double step : {0.7, 1.3, 3.0, 7.3, 11.0, 19.7}) {
    average_ = PaceAverage();
    usual_ = 0;
    int slow_seconds = 0;
    Run(300, step, 1, 0.003, &slow_seconds);
    slow_seconds = 0;
    Run(5000, step, 1, 0.003, &slow_seconds);
    EXPECT_LE(slow_seconds, 5) << step;
  }
}

// Before anything is known of how low averages get, few of them tell how much they vary.
TEST_F(PaceAverageTest, ChanceSeldomMakesAYoungJobSlower) {
  constexpr int kJobs = 1500;
  int slower = 0;
  for (int job = 0; job < kJobs; ++job) {
    BeginJob();
    int slow_seconds = 0;
    Run(60, 0.7, 1, 0.03, &slow_seconds);
    slower += Run(40, 0.7, 1, 0.03) >= 0 ? 1 : 0;
  }
  EXPECT_LE(slower, 5);
}

// With steps of 11 s, power varies between 640 and 420, and 4 % less show as soon as a step or two are over.
TEST_F(PaceAverageTest, SmallLossesShowAfterAStep) {
  ASSERT_EQ(Run(900, 11, 1, 0.003), -1);
  const int64_t known = Run(300, 11, 0.96, 0.003);
  EXPECT_GE(known, 900);
  EXPECT_LE(known, 900 + 24);
  const Slowness slowness = average_.SlowerThan(usual_, 1);
  EXPECT_GE(slowness.seconds, 10);
  EXPECT_LE(slowness.seconds, 24);
  EXPECT_NEAR(slowness.share, 0.04, 0.03);
}

// Two per cent are less than what an average over whole ticks deviates by where a step takes 17.7 of them.
TEST_F(PaceAverageTest, StepsAreAveragedOutThatTakeNoWholeNumberOfTicks) {
  ASSERT_EQ(Run(900, 17.7, 1, 0.001), -1);
  const int64_t known = Run(300, 17.7, 0.98, 0.001);
  EXPECT_GE(known, 900);
  EXPECT_LE(known, 900 + 2 * 18);
}

// A step that computes for twice as long, right before the job becomes slower, is no deviation in which that could
// hide.
TEST_F(PaceAverageTest, ARiseBeforehandHidesNoLoss) {
  ASSERT_EQ(Run(900, 6, 1, 0.003), -1);
  for (int i = 0; i < 5; ++i) {
    average_.Add(640);
    average_.LearnDeviation(usual_, 1 / kMemorySeconds);
  }
  const int64_t known = Run(300, 6, 0.93, 0.003);
  EXPECT_GE(known, 900);
  EXPECT_LE(known, 900 + 16);
}

// Every 97 s something takes three seconds longer. That is what the job is like.
TEST_F(PaceAverageTest, HiccupsAreNoChangeOfPace) {
  int slow_seconds = 0;
  for (int round = 0; round < 40; ++round) {
    int of_round = 0;
    Run(94, 2, 1, 0.003, &of_round);
    Run(3, 2, 0.6, 0.003, &of_round);
    if (round >= 8) slow_seconds += of_round;
  }
  EXPECT_LE(slow_seconds, 15);
}

TEST_F(PaceAverageTest, LossesBelowTheLeastAreNone) {
  ASSERT_EQ(Run(900, 2, 1, 0.003), -1);
  EXPECT_EQ(Run(200, 2, 1 - 0.5 * PaceAverage::kSlower, 0.003), -1);
}

TEST_F(PaceAverageTest, AfterAPauseOnlyFullAveragesCount) {
  ASSERT_EQ(Run(900, 2, 1, 0.003), -1);
  average_.Restart();
  EXPECT_EQ(Run(static_cast<int64_t>(PaceAverage::kShortest) - 1, 2, 0.5, 0), -1);
  EXPECT_NE(Run(10, 2, 0.5, 0), -1);
}

// Losses that are seldom surely there nearly always seem to be, and none at all seldom does.
TEST_F(PaceAverageTest, SeemsSlowerWithLessThanItTakesToBe) {
  constexpr int kJobs = 60;
  int slower = 0;
  int seeming = 0;
  int unchanged_seconds = 0;
  for (int job = 0; job < kJobs; ++job) {
    BeginJob();
    int slow_seconds = 0;
    Run(300, 1.3, 1, 0.02, &slow_seconds);
    seeming_seconds_ = 0;
    Run(100, 1.3, 1, 0.02, &slow_seconds);
    unchanged_seconds += seeming_seconds_;
    seeming_seconds_ = slow_seconds = 0;
    Run(60, 1.3, 0.985, 0.02, &slow_seconds);
    slower += slow_seconds > 0 ? 1 : 0;
    seeming += seeming_seconds_ > 0 ? 1 : 0;
  }
  EXPECT_LE(slower, 40);
  EXPECT_GE(seeming, 55);
  EXPECT_LE(unchanged_seconds, 100 * kJobs / 20);
}

TEST_F(PaceAverageTest, SlowTicksHaveFewerAverages) {
  PaceAverage average;
  for (int i = 0; i < 200; ++i) {
    average.Add(i < 190 ? 100 : 90);
    if (i < 190) average.LearnDeviation(100, 0.01);
  }
  EXPECT_GT(average.SlowerThan(100, 5).share, 0.05);
  EXPECT_EQ(average.SlowerThan(0, 5).share, 0) << "a usual level of nothing tells nothing";
  EXPECT_EQ(average.SlowerThan(80, 5).share, 0);
}

}  // namespace
}  // namespace lockstep
