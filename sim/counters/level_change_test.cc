#include "sim/counters/level_change.h"

#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

CounterSpec Spec() {
  CounterSpec spec;
  spec.hosts = 10;
  spec.devices_per_host = 2;
  return spec;
}

TEST(LevelChangeTest, ASubtleFaultIsSoManyDeviationsOfTheJitter) {
  CounterFault fault{.kind = FaultKind::kClockThrottled, .host = 3, .device = 1, .begin_ms = 100, .end_ms = 200};
  fault.sigmas = 3;
  const std::vector<LevelChange> changes = DrawChanges(Spec(), {&fault, 1}, 5);
  ASSERT_FALSE(changes.empty());
  for (const LevelChange& change : changes) {
    const double share = 3 * Spec().noise.jitter * WaveformOf(change.metric).jitter;
    EXPECT_EQ(change.mode, EffectMode::kScale);
    EXPECT_NEAR(std::abs(change.amount - 1), share, 1e-12);
    EXPECT_EQ(change.amount < 1, change.metric != Metric::kGpuTemperatureCelsius);
  }
}

TEST(LevelChangeTest, SubtleFaultsShowInNoErrorCounterButAlwaysSomewhere) {
  for (const FaultKind kind : {FaultKind::kPcieDegraded, FaultKind::kNicSendSlow, FaultKind::kNvlinkSlow,
                               FaultKind::kHostSlow, FaultKind::kStorageStall}) {
    CounterFault fault{.kind = kind, .begin_ms = 100, .end_ms = 200, .sigmas = 3};
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const std::vector<LevelChange> changes = DrawChanges(Spec(), {&fault, 1}, seed);
      ASSERT_FALSE(changes.empty());
      for (const LevelChange& change : changes) ASSERT_GT(WaveformOf(change.metric).jitter, 0);
    }
  }
}

TEST(LevelChangeTest, ARampGrowsFromNothing) {
  const LevelChange scaled{.mode = EffectMode::kScale, .amount = 0.5, .begin_ms = 100, .end_ms = 900, .ramp_ms = 200};
  EXPECT_DOUBLE_EQ(Changed(10, {&scaled, 1}, 99), 10);
  EXPECT_DOUBLE_EQ(Changed(10, {&scaled, 1}, 100), 10);
  EXPECT_DOUBLE_EQ(Changed(10, {&scaled, 1}, 200), 7.5);
  EXPECT_DOUBLE_EQ(Changed(10, {&scaled, 1}, 300), 5);
  EXPECT_DOUBLE_EQ(Changed(10, {&scaled, 1}, 900), 10);
  const LevelChange set{.mode = EffectMode::kSet, .amount = 2, .end_ms = 900};
  const LevelChange add{.mode = EffectMode::kAdd, .amount = 2, .end_ms = 900};
  EXPECT_DOUBLE_EQ(Changed(10, {&set, 1}, 5), 2);
  EXPECT_DOUBLE_EQ(Changed(10, {&add, 1}, 5), 12);
}

TEST(LevelChangeTest, ALoadShiftTouchesAllMachinesAndABackupOne) {
  CounterSpec spec = Spec();
  spec.oddities = {{.kind = OddityKind::kLoadShift, .begin_ms = 0, .end_ms = 10, .amount = 0.8},
                   {.kind = OddityKind::kBackup, .host = 4, .begin_ms = 0, .end_ms = 10}};
  std::set<int32_t> shifted, backed_up;
  for (const LevelChange& change : DrawChanges(spec, {}, 1)) {
    (change.mode == EffectMode::kScale ? shifted : backed_up).insert(change.host);
    EXPECT_TRUE(change.mode == EffectMode::kAdd || change.amount < 1);
  }
  EXPECT_EQ(shifted.size(), 10u);
  EXPECT_EQ(backed_up, std::set<int32_t>{4});
}

TEST(LevelChangeTest, AfterRebalancingSomeHaveMoreAndSomeLess) {
  CounterSpec spec = Spec();
  spec.hosts = 200;
  spec.oddities = {{.kind = OddityKind::kRebalance, .begin_ms = 0, .end_ms = 10, .amount = 0.25}};
  int more = 0, less = 0;
  for (const LevelChange& change : DrawChanges(spec, {}, 1)) {
    if (change.metric != Metric::kGpuTensorActiveRatio) continue;
    ++(change.amount > 1 ? more : less);
  }
  EXPECT_NEAR(more, 50, 20);
  EXPECT_EQ(more + less, 200);
}

}  // namespace
}  // namespace lockstep
