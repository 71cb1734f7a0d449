#include "detector/counters/job_activity.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/pace_average.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kSettledSeconds = 400;

// Power of a job in steps of two seconds, as the median and the mean over its machines; `share` says how much of the
// usual each is at a second.
class JobActivityTest : public ::testing::Test {
 protected:
  using Share = std::function<double(int64_t second)>;

  static double Usual(int64_t) { return 1; }

  void Run(int64_t begin, int64_t end, const Share& median, const Share& mean, double utilisation = 0.98) {
    for (int64_t second = begin; second < end; ++second) {
      const double power = (second % 2 == 0 ? 640 : 560) * (1 + 0.003 * random_.Gaussian());
      activity_.Observe(Metric::kGpuUtilizationRatio, utilisation, utilisation, 1000 * second, 1);
      activity_.Observe(Metric::kGpuPowerWatts, power * median(second), power * mean(second), 1000 * second, 1);
      if (degraded_at_ < 0 && activity_.IsDegraded(1000 * second)) degraded_at_ = second;
    }
  }
  void RunBoth(int64_t begin, int64_t end, double share, double utilisation = 0.98) {
    const auto both = [share](int64_t) { return share; };
    Run(begin, end, both, both, utilisation);
  }

  Random random_{1};
  JobActivity activity_;
  int64_t degraded_at_ = -1;  // second
};

TEST_F(JobActivityTest, AHealthyJobIsNotDegraded) {
  EXPECT_FALSE(activity_.IsKnown());
  RunBoth(0, 3000, 1);
  EXPECT_TRUE(activity_.IsKnown());
  EXPECT_EQ(degraded_at_, -1);
  EXPECT_EQ(activity_.regime(), 0);
  EXPECT_FALSE(activity_.SeemsSlower());
}

TEST_F(JobActivityTest, ALossThatIsNotSureSeemsToBeThere) {
  RunBoth(0, kSettledSeconds, 1);
  const int64_t end = kSettledSeconds + 300;
  int64_t seems_at = -1;
  for (int64_t second = kSettledSeconds; second < end && degraded_at_ < 0; ++second) {
    RunBoth(second, second + 1, 0.98);
    if (seems_at < 0 && activity_.SeemsSlower()) {
      seems_at = second;
      EXPECT_GE(activity_.loss(), PaceAverage::kSlower);
    }
  }
  EXPECT_GT(seems_at, 0);
  EXPECT_LT(seems_at, degraded_at_);
  RunBoth(end, end + 20, 0.4);
  EXPECT_FALSE(activity_.SeemsSlower()) << "it stands";
}

// Ten idle seconds at the beginning are a tenth of what is known by then, and must not hide a tenth of slowness.
TEST_F(JobActivityTest, StartingUpDoesNotHideThatTheJobBecomesSlower) {
  RunBoth(0, 10, 0.2);
  RunBoth(10, 180, 1);
  RunBoth(180, 400, 0.9);
  EXPECT_GE(degraded_at_, 180);
  EXPECT_LE(degraded_at_, 220);
}

TEST_F(JobActivityTest, AJobThatWakesUpIsLearntAnew) {
  RunBoth(0, 300, 0.2, 0.3);
  RunBoth(300, 600, 1);
  EXPECT_EQ(degraded_at_, -1);
  RunBoth(600, 700, 0.9);
  EXPECT_GE(degraded_at_, 600);
  EXPECT_LE(degraded_at_, 640);
}

TEST_F(JobActivityTest, StandingWithBusyGpusIsAHangAfterSeconds) {
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 60, 0.4, 1.0);
  EXPECT_EQ(degraded_at_, kSettledSeconds + JobActivity::kStuckMs / 1000);
  EXPECT_EQ(activity_.stuck_since_ms(), 1000 * kSettledSeconds);
  EXPECT_EQ(activity_.degraded_since_ms(), 1000 * kSettledSeconds);
  EXPECT_EQ(activity_.regime(), 2);
  EXPECT_NEAR(activity_.loss(), 0.6, 0.1);
}

TEST_F(JobActivityTest, StandingWithIdleGpusMayBeACheckpointAndCountsLater) {
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 20, 0.2, 0.02);
  EXPECT_EQ(degraded_at_, -1);
  EXPECT_EQ(activity_.regime(), 1);
  RunBoth(kSettledSeconds + 20, kSettledSeconds + 200, 1);
  EXPECT_EQ(degraded_at_, -1) << "a pause is no news about the pace after it";
  RunBoth(kSettledSeconds + 200, kSettledSeconds + 260, 0.2, 0.02);
  EXPECT_EQ(degraded_at_, kSettledSeconds + 200 + JobActivity::kPauseMs / 1000);
}

TEST_F(JobActivityTest, ASlowerJobIsKnownWithinSecondsAndAgainWell) {
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 120, 0.9);
  EXPECT_GE(degraded_at_, kSettledSeconds + JobActivity::kSlowerMs / 1000);
  EXPECT_LE(degraded_at_, kSettledSeconds + 20);
  EXPECT_EQ(activity_.stuck_since_ms(), 0);
  EXPECT_EQ(activity_.regime(), 0);
  RunBoth(kSettledSeconds + 120, kSettledSeconds + 400, 1);
  EXPECT_FALSE(activity_.IsDegraded(1000 * (kSettledSeconds + 400)));
}

// Only an average over a step shows that a job of long steps has become slower, and it says how long that is.
TEST_F(JobActivityTest, OfAJobOfLongStepsItSaysHowMuchEarlierTheDegradationMayHaveBegun) {
  const auto run = [this](int64_t begin, int64_t end, double share) {
    for (int64_t second = begin; second < end; ++second) {
      const double power = (second % 20 < 14 ? 640 : 420) * share;
      activity_.Observe(Metric::kGpuPowerWatts, power, power, 1000 * second, 1);
      if (degraded_at_ < 0 && activity_.IsDegraded(1000 * second)) degraded_at_ = second;
    }
  };
  run(0, 600, 1);
  ASSERT_EQ(degraded_at_, -1);
  run(600, 720, 0.95);
  EXPECT_GT(degraded_at_, 605);
  EXPECT_LE(degraded_at_, 640);
  EXPECT_EQ(activity_.degraded_lag_ms() % 20'000, 0) << "whole steps";
  EXPECT_GT(activity_.degraded_lag_ms(), 0);
  EXPECT_LE(activity_.degraded_since_ms() - activity_.degraded_lag_ms(), 600'000);
}

// Checkpoints begin and end within a tick, which is then part of one and part of the other.
TEST_F(JobActivityTest, TheEdgesOfAPauseAreNoSlowerJob) {
  RunBoth(0, kSettledSeconds, 1);
  int64_t second = kSettledSeconds;
  for (const double edge : {0.65, 0.75, 0.85, 0.95}) {
    RunBoth(second, second + 1, edge);
    RunBoth(second + 1, second + 15, 0.2, 0.02);
    RunBoth(second + 15, second + 16, edge);
    RunBoth(second + 16, second + 200, 1);
    second += 200;
    EXPECT_EQ(degraded_at_, -1) << edge;
  }
}

TEST_F(JobActivityTest, AJobThatIsSlowerBeforeAndAfterAPauseIsSlowerSinceBefore) {
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 60, 0.93);
  const int64_t since_ms = activity_.slower_since_ms();
  EXPECT_GT(since_ms, 1000 * kSettledSeconds);
  RunBoth(kSettledSeconds + 60, kSettledSeconds + 80, 0.2, 0.02);
  RunBoth(kSettledSeconds + 80, kSettledSeconds + 180, 0.93);
  EXPECT_EQ(activity_.slower_since_ms(), since_ms);
  RunBoth(kSettledSeconds + 180, kSettledSeconds + 200, 0.2, 0.02);
  RunBoth(kSettledSeconds + 200, kSettledSeconds + 300, 1);
  EXPECT_EQ(activity_.slower_since_ms(), 0) << "it recovered in the pause";
}

// The averages show only after the pause what began right before it.
TEST_F(JobActivityTest, DegradationThatShowsRightAfterAPauseMayHaveBegunBeforeIt) {
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 2, 0.93);
  RunBoth(kSettledSeconds + 2, kSettledSeconds + 22, 0.2, 0.02);
  RunBoth(kSettledSeconds + 22, kSettledSeconds + 100, 0.93);
  ASSERT_GT(degraded_at_, 0);
  EXPECT_LE(activity_.degraded_since_ms() - activity_.degraded_lag_ms(), 1000 * kSettledSeconds);
  JobActivity without_pause;
  std::swap(activity_, without_pause);
  RunBoth(0, kSettledSeconds, 1);
  RunBoth(kSettledSeconds, kSettledSeconds + 60, 0.93);
  EXPECT_GT(activity_.degraded_since_ms() - activity_.degraded_lag_ms(), 1000 * (kSettledSeconds - 20));
}

TEST_F(JobActivityTest, OneMachineThatDoesLessOrWorkThatMovesDegradesNobody) {
  RunBoth(0, kSettledSeconds, 1);
  const auto lower = [](int64_t) { return 0.9; };
  Run(kSettledSeconds, kSettledSeconds + 100, Usual, lower);
  EXPECT_EQ(degraded_at_, -1) << "the mean alone";
  RunBoth(kSettledSeconds + 100, kSettledSeconds + 700, 1);
  Run(kSettledSeconds + 700, kSettledSeconds + 800, lower, Usual);
  EXPECT_EQ(degraded_at_, -1) << "the median alone";
}

TEST_F(JobActivityTest, NothingIsConcludedBeforeItHasLearnt) {
  const auto last = static_cast<int64_t>(JobActivity::kLearningSeconds);
  RunBoth(0, last - 15, 1);
  RunBoth(last - 15, last, 0.3, 1.0);
  EXPECT_EQ(degraded_at_, -1);
}

TEST_F(JobActivityTest, WhatComesTooSeldomOrNotAtAllTellsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t second = 0; second < 3000; second += 45) {
    activity_.Observe(Metric::kGpuPowerWatts, second < 2000 ? 600 : 60, second < 2000 ? 600 : 60, 1000 * second, 45);
    activity_.Observe(Metric::kGpuTensorActiveRatio, nan, nan, 1000 * second, 1);
  }
  EXPECT_FALSE(activity_.IsKnown());
  EXPECT_FALSE(activity_.IsDegraded(3'000'000));
}

// `tick` seconds from reading to reading: when the job is first degraded, which works `share` of the usual from 1,200 s
// on, and does nothing in the single reading at `dip`; -1 = never.
int64_t DegradedAt(int64_t tick, double share, int64_t dip) {
  Random random(3);
  JobActivity activity;
  for (int64_t second = 0; second < 3000; second += tick) {
    const double power = 600 * (1 + 0.003 * random.Gaussian()) * (second == dip ? 0.2 : second < 1200 ? 1 : share);
    activity.Observe(Metric::kGpuUtilizationRatio, 0.98, 0.98, 1000 * second, static_cast<double>(tick));
    activity.Observe(Metric::kGpuPowerWatts, power, power, 1000 * second, static_cast<double>(tick));
    for (int64_t now = second; now < second + tick; ++now) {
      if (activity.IsDegraded(1000 * now)) return now;
    }
  }
  return -1;
}

TEST(SlowlyReadJobTest, IsJudgedByReadingsThatAreSecondsApart) {
  for (const int64_t tick : {6, 10, 15, 30}) {
    EXPECT_EQ(DegradedAt(tick, 1, 900), -1) << tick << ": one reading is no hang";
    for (const double share : {0.2, 0.85}) {
      const int64_t at = DegradedAt(tick, share, -1);
      EXPECT_GE(at, 1200) << tick;
      EXPECT_LE(at, 1200 + 6 * tick) << tick;
    }
  }
}

TEST(SlowlyReadJobTest, BesideFasterMetricsSlowOnesDoNotCount) {
  JobActivity activity;
  for (int64_t second = 0; second < 600; ++second) {
    // Read every 15 s, the sum of what GPUs took would hide for as long that they stand.
    if (second % 15 == 0) activity.Observe(Metric::kGpuEnergyJoulesTotal, 600, 600, 1000 * second, 15);
    const double power = second < 500 ? 600 : 60;
    activity.Observe(Metric::kGpuUtilizationRatio, 0.98, 0.98, 1000 * second, 1);
    activity.Observe(Metric::kGpuPowerWatts, power, power, 1000 * second, 1);
  }
  EXPECT_NE(activity.stuck_since_ms(), 0);
}

}  // namespace
}  // namespace lockstep
