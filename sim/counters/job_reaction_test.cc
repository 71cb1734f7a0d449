#include "sim/counters/job_reaction.h"

#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

Activity At(const std::vector<ActivityWindow>& windows, int64_t ms) {
  for (const ActivityWindow& window : windows) {
    if (ms >= window.begin_ms && ms < window.end_ms) return window.activity;
  }
  ADD_FAILURE() << "a hole at " << ms;
  return Activity::kTraining;
}

TEST(JobReactionTest, WindowsHaveNoHoles) {
  const CounterFault fault{.kind = FaultKind::kGpuLost, .begin_ms = 419'000, .end_ms = 900'000};
  const std::vector<ActivityWindow> windows = ReactionTo({&fault, 1}, {});
  EXPECT_EQ(windows.front().begin_ms, 0);
  EXPECT_EQ(windows.back().end_ms, 1'500'000);
  for (size_t i = 1; i < windows.size(); ++i) EXPECT_EQ(windows[i].begin_ms, windows[i - 1].end_ms);
}

TEST(JobReactionTest, AHangStopsAllUntilItIsOverAndTheJobStartsAgain) {
  const CounterFault fault{.kind = FaultKind::kGpuLost, .begin_ms = 500'000, .end_ms = 900'000};
  const std::vector<ActivityWindow> windows = ReactionTo({&fault, 1}, {});
  EXPECT_EQ(At(windows, 501'000), Activity::kTraining);
  EXPECT_EQ(At(windows, 503'000), Activity::kStuck);
  EXPECT_EQ(At(windows, 845'000), Activity::kStuck) << "nobody writes a checkpoint meanwhile";
  EXPECT_EQ(At(windows, 930'000), Activity::kPause);
  EXPECT_EQ(At(windows, 1'000'000), Activity::kTraining);
}

TEST(JobReactionTest, ASlowMachineMakesEveryStepLonger) {
  const CounterFault fault{.kind = FaultKind::kPcieDegraded, .begin_ms = 500'000, .end_ms = 600'000};
  for (const ActivityWindow& window : ReactionTo({&fault, 1}, {.checkpoint_every_ms = 0, .slowdown = 0.25})) {
    const bool slow = window.begin_ms >= 500'000 && window.end_ms <= 600'000;
    EXPECT_DOUBLE_EQ(window.step_seconds, slow ? 10 : 8);
    EXPECT_DOUBLE_EQ(window.compute_share, slow ? 0.6 : 0.75);
  }
}

TEST(JobReactionTest, AHealthyJobOnlyPausesForItsCheckpoints) {
  const std::vector<ActivityWindow> windows = ReactionTo({}, {});
  EXPECT_EQ(At(windows, 10), Activity::kTraining);
  EXPECT_EQ(At(windows, 425'000), Activity::kPause);
  EXPECT_EQ(At(windows, 436'000), Activity::kTraining);
  EXPECT_EQ(At(windows, 850'000), Activity::kPause);
}

}  // namespace
}  // namespace lockstep
