#include "detector/network/slow_paths.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/random.h"
#include "detector/network/transfer_table.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kSteps = 20;
constexpr double kNoise = 0.02;

// Paths whose transfers take `level(path, step)` times what is usual, with noise; what is usual takes 10 ms a step.
template <typename Level>
TransferTable Table(size_t paths, const Level& level) {
  Random random(1);
  TransferTable table;
  table.steps = kSteps;
  table.paths.resize(paths, {.noise = kNoise});
  for (size_t path = 0; path < paths; ++path) {
    for (size_t step = 0; step < kSteps; ++step) {
      const double ratio = level(path, step) * std::exp(kNoise * random.Gaussian());
      table.ratio.push_back(static_cast<float>(ratio));
      table.excess_seconds.push_back(static_cast<float>(0.01 * (ratio - 1)));
    }
  }
  return table;
}

TEST(FindSlowPathsTest, FindsTheOnsetOfOnePathAmongMany) {
  const std::vector<SlowPath> slow =
      FindSlowPaths(Table(6, [](size_t path, size_t step) { return path == 2 && step >= 8 ? 1.6 : 1.0; }));
  for (size_t path = 0; path < slow.size(); ++path) EXPECT_EQ(slow[path].slow, path == 2) << path;
  EXPECT_EQ(slow[2].first_step, 8u);
  EXPECT_NEAR(slow[2].ratio, 1.6, 0.1);
  EXPECT_FALSE(slow[2].against_past);
  EXPECT_NEAR(slow[2].excess_before_seconds, 0, 5e-4);
}

TEST(FindSlowPathsTest, PathsThatBecomeSlowTogetherAreComparedWithTheirPast) {
  // What is usual is then the slow level: before the onset all were ten times as quick.
  const std::vector<SlowPath> slow = FindSlowPaths(Table(8, [](size_t, size_t step) { return step >= 6 ? 1.0 : 0.1; }));
  for (const SlowPath& path : slow) {
    EXPECT_TRUE(path.slow);
    EXPECT_EQ(path.first_step, 6u);
    EXPECT_NEAR(path.ratio, 10, 0.5);
    EXPECT_TRUE(path.against_past);
    EXPECT_NEAR(path.excess_before_seconds, -0.009, 5e-4);
  }
}

TEST(FindSlowPathsTest, OneQuickStepIsAPastBecauseChanceMakesNothingQuicker) {
  const std::vector<SlowPath> slow = FindSlowPaths(Table(8, [](size_t, size_t step) { return step == 0 ? 0.2 : 1.0; }));
  for (const SlowPath& path : slow) {
    EXPECT_TRUE(path.slow);
    EXPECT_EQ(path.first_step, 1u);
    EXPECT_NEAR(path.ratio, 5, 0.5);
    EXPECT_TRUE(path.against_past);
  }
}

// Levels of little noise differ by a little for sure: that is no onset of what was slow already.
TEST(FindSlowPathsTest, WhatBecomesALittleSlowerWasSlowBefore) {
  const auto level = [](size_t path, size_t step) {
    if (path != 2) return 1.0;
    return step == 0 ? 1.0 : step < 9 ? 12.0 : 14.0;
  };
  const std::vector<SlowPath> slow = FindSlowPaths(Table(6, level));
  EXPECT_TRUE(slow[2].slow);
  EXPECT_EQ(slow[2].first_step, 1u);
  EXPECT_NEAR(slow[2].ratio, 13, 1.5);
}

TEST(FindSlowPathsTest, AQuickFirstStepIsNoPastWhereLaterOnesAreAsQuick) {
  const auto level = [](size_t, size_t step) { return step == 0 || step == 9 ? 0.2 : 1.0; };
  for (const SlowPath& path : FindSlowPaths(Table(8, level))) EXPECT_FALSE(path.slow);
}

TEST(FindSlowPathsTest, ASlowFirstStepIsNobodysFault) {
  for (const SlowPath& path : FindSlowPaths(Table(8, [](size_t, size_t step) { return step == 0 ? 5.0 : 1.0; }))) {
    EXPECT_FALSE(path.slow);
  }
}

// A communicator connects when it is used first.
TEST(FindSlowPathsTest, ASlowFirstStepDoesNotHideAnOnset) {
  for (const size_t onset : {size_t{4}, size_t{8}, size_t{15}}) {
    const std::vector<SlowPath> slow = FindSlowPaths(Table(6, [&](size_t path, size_t step) {
      return path != 2 ? 1.0 : step == 0 ? 40.0 : step >= onset ? 3.0 : 1.0;
    }));
    EXPECT_TRUE(slow[2].slow) << onset;
    EXPECT_EQ(slow[2].first_step, onset);
    EXPECT_FALSE(slow[2].at_times);
  }
}

TEST(FindSlowPathsTest, APathThatWasAlwaysSlowIsComparedWithTheOthers) {
  const std::vector<SlowPath> slow = FindSlowPaths(Table(4, [](size_t path, size_t) { return path == 1 ? 2.0 : 1.0; }));
  EXPECT_TRUE(slow[1].slow);
  EXPECT_EQ(slow[1].first_step, 0u);
  EXPECT_EQ(slow[1].excess_before_seconds, 0);
}

TEST(FindSlowPathsTest, AllToAllsThatGetSlowerTogetherAreTheRoutings) {
  for (const size_t slower : {size_t{8}, size_t{2}}) {
    TransferTable table = Table(8, [&](size_t path, size_t step) { return path < slower && step >= 6 ? 2.0 : 1.0; });
    for (TransferPath& path : table.paths) path.exchange = path.crosses_hosts = true;
    const std::vector<SlowPath> slow = FindSlowPaths(table);
    for (size_t path = 0; path < slow.size(); ++path) EXPECT_EQ(slow[path].slow, slower == 2 && path < 2) << path;
  }
}

TEST(FindSlowPathsTest, AbstainsOnTooFewSteps) {
  TransferTable table = Table(2, [](size_t path, size_t) { return path == 0 ? 3.0 : 1.0; });
  for (size_t i = 0; i < table.ratio.size(); ++i) {
    if (i % kSteps >= 2) table.ratio[i] = std::numeric_limits<float>::quiet_NaN();
  }
  for (const SlowPath& path : FindSlowPaths(table)) EXPECT_FALSE(path.slow);
}

TEST(FindSlowPathsTest, AWildStepDoesNotHideAnOnset) {
  const std::vector<SlowPath> slow = FindSlowPaths(Table(6, [](size_t path, size_t step) {
    return step == 3 && path == 2 ? 40 : path == 2 && step >= 8 ? 1.6 : 1.0;
  }));
  EXPECT_TRUE(slow[2].slow);
  EXPECT_EQ(slow[2].first_step, 8u);
}

TEST(FindSlowPathsTest, HowMuchPathsDifferSaysNothingOfOneThatBecomesSlow) {
  TransferTable table = Table(
      6, [](size_t path, size_t step) { return (path % 2 == 0 ? 1.0 : 2.0) * (path == 2 && step >= 8 ? 1.6 : 1.0); });
  for (TransferPath& path : table.paths) {
    path.noise = 0.5;
    path.step_noise = kNoise;
  }
  const std::vector<SlowPath> slow = FindSlowPaths(table);
  for (size_t path = 0; path < slow.size(); ++path) EXPECT_EQ(slow[path].slow, path == 2) << path;
  EXPECT_EQ(slow[2].first_step, 8u);
}

TEST(FindSlowPathsTest, StepsBeforeThatAreLongerForAllAreNoSlowness) {
  // Two of the steps before come over half of the way to the level after, and not near to it.
  const auto level = [](size_t path, size_t step) {
    return path == 2 && step >= 12 ? 1.7 : step == 4 || step == 9 ? 1.38 : 1.0;
  };
  const std::vector<SlowPath> slow = FindSlowPaths(Table(6, level));
  EXPECT_TRUE(slow[2].slow);
  EXPECT_FALSE(slow[2].at_times);
  EXPECT_EQ(slow[2].first_step, 12u);
}

TEST(FindSlowPathsTest, APathMayBeSlowAtTimes) {
  const auto level = [](size_t path, size_t step) { return path == 2 && step >= 5 && step % 3 == 0 ? 3.0 : 1.0; };
  const TransferTable table = Table(6, level);
  const std::vector<SlowPath> slow = FindSlowPaths(table);
  for (size_t path = 0; path < slow.size(); ++path) {
    EXPECT_FALSE(slow[path].slow) << path;
    EXPECT_EQ(slow[path].at_times, path == 2) << path;
  }
  EXPECT_EQ(slow[2].first_step, 6u);
  EXPECT_NEAR(slow[2].ratio, 3, 0.2);
  const std::vector<char> in_step = SlowSteps(table, slow, {2}, 0);
  for (size_t step = 0; step < kSteps; ++step) EXPECT_EQ(in_step[step], step >= 5 && step % 3 == 0) << step;
}

TEST(FindSlowPathsTest, AFaultThatHasGoneIsThereInItsStepsOnly) {
  const auto level = [](size_t path, size_t step) { return path == 2 && step >= 4 && step < 9 ? 2.0 : 1.0; };
  const TransferTable table = Table(6, level);
  const std::vector<SlowPath> slow = FindSlowPaths(table);
  EXPECT_FALSE(slow[2].slow);
  ASSERT_TRUE(slow[2].at_times);
  const std::vector<char> in_step = SlowSteps(table, slow, {2}, 0);
  for (size_t step = 0; step < kSteps; ++step) EXPECT_EQ(in_step[step], step >= 4 && step < 9) << step;
}

TEST(FindSlowPathsTest, WhatAllPathsShowAtTimesIsNobodys) {
  Random random(5);
  const auto level = [&](size_t, size_t) { return random.Below(5) == 0 ? 2.0 : 1.0; };
  for (const SlowPath& path : FindSlowPaths(Table(40, level))) EXPECT_FALSE(path.slow || path.at_times);
}

}  // namespace
}  // namespace lockstep
