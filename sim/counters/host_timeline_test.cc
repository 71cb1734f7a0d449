#include "sim/counters/host_timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"
#include "sim/counters/counter_spec.h"
#include "sim/counters/triangle_wave.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr int64_t kHourMs = 3'600'000;

CounterSpec Hours(int64_t hours) {
  CounterSpec spec;
  spec.activity = {{.end_ms = hours * kHourMs}};
  return spec;
}

std::vector<HostTick> Ticks(const CounterSpec& spec, int32_t host, const std::vector<CounterFault>& faults = {},
                            uint64_t seed = 1) {
  return HostTimeline(spec, faults, seed, host).TicksEvery(1000);
}

template <typename Is>
double ShareOf(const std::vector<HostTick>& ticks, Is is) {
  return static_cast<double>(std::count_if(ticks.begin(), ticks.end(), is)) / static_cast<double>(ticks.size());
}

TEST(TriangleWaveTest, RisesToTheMiddleOfItsPeriodAndFallsAgain) {
  const TriangleWave<1000> wave(0);
  EXPECT_DOUBLE_EQ(wave.At(0), -1);
  EXPECT_DOUBLE_EQ(wave.At(250), 0);
  EXPECT_DOUBLE_EQ(wave.At(500), 1);
  EXPECT_DOUBLE_EQ(wave.At(750), 0);
  EXPECT_DOUBLE_EQ(wave.At(1000), -1);
  EXPECT_DOUBLE_EQ(TriangleWave<1000>(0.25).At(0), 0);
}

TEST(HostTimelineTest, MomentsAreAnIntervalApartFromAnOffsetOfTheHostOn) {
  const CounterSpec spec = Hours(1);
  const std::vector<HostTick> ticks = Ticks(spec, 3);
  ASSERT_GE(ticks.size(), 3600u);
  EXPECT_LE(ticks.front().ms, static_cast<int64_t>(spec.noise.tick_spread_ms));
  for (size_t i = 1; i < ticks.size(); ++i) ASSERT_EQ(ticks[i].ms - ticks[i - 1].ms, 1000);
  EXPECT_LT(ticks.back().ms, kHourMs);
  EXPECT_NE(Ticks(spec, 4).front().ms, ticks.front().ms);
  EXPECT_EQ(HostTimeline(spec, {}, 1, 3).TicksEvery(15'000).front().ms, ticks.front().ms);
}

TEST(HostTimelineTest, BurstsAndHolesComeAtTheirRates) {
  CounterSpec spec = Hours(100);
  spec.noise.burst_per_hour = 3;
  spec.noise.burst_seconds = 36;
  spec.noise.gap_per_hour = 1;
  spec.noise.gap_seconds = 36;
  spec.noise.restart_per_hour = 0;
  const std::vector<HostTick> ticks = Ticks(spec, 0);
  EXPECT_NEAR(ShareOf(ticks, [](const HostTick& tick) { return tick.in_burst; }), 0.03, 0.006);
  EXPECT_NEAR(ShareOf(ticks, [](const HostTick& tick) { return tick.in_gap; }), 0.01, 0.004);
}

TEST(HostTimelineTest, ARestartIsAHoleAsWell) {
  CounterSpec spec = Hours(50);
  spec.noise.restart_per_hour = 2;
  spec.noise.gap_per_hour = 0;
  const std::vector<HostTick> ticks = Ticks(spec, 0);
  EXPECT_GT(ShareOf(ticks, [](const HostTick& tick) { return tick.in_restart; }), 0);
  for (const HostTick& tick : ticks) ASSERT_EQ(tick.in_gap, tick.in_restart);
}

TEST(HostTimelineTest, AMachineThatCannotBeReachedHasAHoleForAsLong) {
  CounterSpec spec = Hours(1);
  spec.noise.gap_per_hour = spec.noise.restart_per_hour = 0;
  const std::vector<CounterFault> faults = {
      {.kind = FaultKind::kMachineUnreachable, .host = 2, .begin_ms = 100'000, .end_ms = 200'000},
      {.kind = FaultKind::kGpuLost, .host = 1, .begin_ms = 0, .end_ms = kHourMs}};
  for (const HostTick& tick : Ticks(spec, 2, faults)) {
    ASSERT_EQ(tick.in_gap, tick.ms >= 100'000 && tick.ms < 200'000) << tick.ms;
  }
  for (const HostTick& tick : Ticks(spec, 1, faults)) ASSERT_FALSE(tick.in_gap);
}

TEST(HostTimelineTest, WhatTheJobDoesIsAsItsWindowsSay) {
  CounterSpec spec;
  spec.activity = {{.activity = Activity::kTraining, .end_ms = 50'000},
                   {.activity = Activity::kPause, .begin_ms = 50'000, .end_ms = 80'000},
                   {.activity = Activity::kStuck, .begin_ms = 80'000, .end_ms = 90'000}};
  for (const HostTick& tick : Ticks(spec, 0)) {
    ASSERT_EQ(tick.activity, tick.ms < 50'000   ? Activity::kTraining
                             : tick.ms < 80'000 ? Activity::kPause
                                                : Activity::kStuck);
  }
  spec.activity.clear();
  EXPECT_TRUE(Ticks(spec, 0).empty());
}

TEST(HostTimelineTest, AClockThatIsOffIsThatOfOneHost) {
  CounterSpec spec = Hours(1);
  const int64_t usual_ms = HostTimeline(spec, {}, 1, 5).skew_ms();
  EXPECT_LE(std::abs(usual_ms), static_cast<int64_t>(3 * spec.noise.clock_skew_ms));
  spec.oddities = {{.kind = OddityKind::kClockOff, .host = 5, .amount = 90}};
  EXPECT_EQ(HostTimeline(spec, {}, 1, 5).skew_ms(), usual_ms + 90'000);
  EXPECT_LT(std::abs(HostTimeline(spec, {}, 1, 6).skew_ms()), 1000);
}

}  // namespace
}  // namespace lockstep
