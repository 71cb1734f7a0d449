#include "detector/counters/metric_raster.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/counters/sampling_interval.h"
#include "detector/model/sample_losses.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kZeroMs = 1'000'000;

struct Taken {
  int64_t due_ms;
  std::vector<float> values;
};

// All ticks of which everything before `now_ms` tells all.
std::vector<Taken> TakeBefore(int64_t now_ms, MetricRaster* raster) {
  std::vector<Taken> taken;
  for (int64_t due_ms = raster->DueMs(); due_ms < now_ms; due_ms = raster->DueMs()) {
    taken.push_back({due_ms, raster->TakeTick()});
  }
  return taken;
}

int Known(const Taken& tick) {
  int known = 0;
  for (const float value : tick.values) known += std::isnan(value) ? 0 : 1;
  return known;
}

MetricRaster Rows(bool is_rate, int rows) {
  MetricRaster raster(is_rate);
  raster.SetZero(kZeroMs);
  for (int row = 0; row < rows; ++row) raster.AddRow(row, "gpu0");
  return raster;
}

// A tick that is a little too short loses samples all the time.
TEST(MetricRasterTest, IntervalsThatNobodyUsuallySetsAreWholeSeconds) {
  EXPECT_EQ(ConfiguredInterval(5940), 6000);
  EXPECT_EQ(ConfiguredInterval(8110), 8000);
  EXPECT_EQ(ConfiguredInterval(10'300), 10'000);
  EXPECT_EQ(ConfiguredInterval(11'020), 11'000);
  EXPECT_EQ(ConfiguredInterval(1500), 1500);
  EXPECT_EQ(ConfiguredInterval(330), 330);
}

TEST(MetricRasterTest, ATickIsOverWhenTheLastUnitHasSampled) {
  MetricRaster raster = Rows(false, 3);
  SampleLosses losses;
  std::vector<Taken> all;
  for (int64_t second = 0; second < 20; ++second) {
    for (const int64_t phase : {0, 150, 400}) {
      const auto row = static_cast<int32_t>(phase == 0 ? 0 : phase == 150 ? 1 : 2);
      raster.Observe(row, kZeroMs + 1000 * second + phase, static_cast<double>(second), &losses);
    }
    for (Taken& tick : TakeBefore(kZeroMs + 1000 * (second + 1), &raster)) all.push_back(std::move(tick));
  }
  EXPECT_EQ(raster.tick_ms(), 1000);
  ASSERT_EQ(all.size(), 20u);
  for (size_t tick = 0; tick < all.size(); ++tick) {
    EXPECT_EQ(all[tick].due_ms, kZeroMs + 1000 * static_cast<int64_t>(tick) + 400);
    EXPECT_EQ(all[tick].values, std::vector<float>(3, static_cast<float>(tick)));
  }
  EXPECT_EQ(losses.late, 0u);
}

// Machines sample at any moment of a tick, wake up late, and lose samples; none of it makes a sample count twice or in
// a tick of another time.
TEST(MetricRasterTest, EverySampleCountsInTheTickOfItsTime) {
  for (const int64_t interval_ms : {200, 1000, 15'000}) {
    Random random(static_cast<uint64_t>(interval_ms));
    constexpr int kRows = 40;
    constexpr int kTicks = 200;
    MetricRaster raster = Rows(false, kRows);
    SampleLosses losses;
    const int64_t jitter_ms = interval_ms / 20;
    std::vector<std::vector<int64_t>> times(kRows);
    for (int row = 0; row < kRows; ++row) {
      const auto phase = static_cast<int64_t>(random.Below(static_cast<uint64_t>(interval_ms)));
      for (int64_t tick = 0; tick < kTicks; ++tick) {
        if (tick > 5 && random.Below(50) == 0) continue;
        const auto late = static_cast<int64_t>(random.Below(static_cast<uint64_t>(jitter_ms)));
        times[static_cast<size_t>(row)].push_back(kZeroMs + tick * interval_ms + phase + late);
      }
    }
    uint64_t known = 0;
    uint64_t samples = 0;
    std::vector<size_t> at(kRows, 0);
    for (int64_t now_ms = kZeroMs; now_ms < kZeroMs + (kTicks + 3) * interval_ms; now_ms += 50) {
      for (int32_t row = 0; row < kRows; ++row) {
        std::vector<int64_t>& own = times[static_cast<size_t>(row)];
        for (size_t& i = at[static_cast<size_t>(row)]; i < own.size() && own[i] < now_ms; ++i, ++samples) {
          // The value is the time: what a tick holds must be of about one interval.
          raster.Observe(row, own[i], static_cast<double>(own[i] - kZeroMs), &losses);
        }
      }
      for (const Taken& tick : TakeBefore(now_ms, &raster)) {
        known += static_cast<uint64_t>(Known(tick));
        float least = 1e30F;
        float most = -1e30F;
        for (const float value : tick.values) {
          if (std::isnan(value)) continue;
          least = std::min(least, value);
          most = std::max(most, value);
        }
        EXPECT_LE(most - least, static_cast<float>(interval_ms + 2 * jitter_ms));
      }
    }
    EXPECT_EQ(raster.tick_ms(), interval_ms);
    EXPECT_GE(known, samples - samples / 200) << interval_ms;
    EXPECT_EQ(losses.duplicate + losses.out_of_order, 0u);
  }
}

TEST(MetricRasterTest, ASilentUnitIsWaitedForOnlyUntilItIsOverdue) {
  MetricRaster raster = Rows(false, 3);
  SampleLosses losses;
  for (int64_t second = 0; second < 40; ++second) {
    for (int32_t row = 0; row < 3; ++row) {
      if (row == 1 && second >= 10) continue;
      raster.Observe(row, kZeroMs + 1000 * second + 10 * row, 5, &losses);
    }
    const std::vector<Taken> taken = TakeBefore(kZeroMs + 1000 * second + 999, &raster);
    if (second < 3) continue;
    ASSERT_EQ(taken.size(), 1u) << second;
    EXPECT_EQ(Known(taken[0]), second < 10 ? 3 : 2);
    const bool expected = second >= 10 && second < 10 + MetricRaster::kExpectedTicks;
    EXPECT_EQ(taken[0].due_ms, kZeroMs + 1000 * second + 20 + (expected ? MetricRaster::kJitterMs : 0)) << second;
  }
}

TEST(MetricRasterTest, AUnitThatComesBackMissesOneTickAtMost) {
  MetricRaster raster = Rows(false, 3);
  SampleLosses losses;
  int missed = 0;
  for (int64_t second = 0; second < 60; ++second) {
    for (int32_t row = 0; row < 3; ++row) {
      if (row == 2 && second >= 10 && second < 30) continue;
      raster.Observe(row, kZeroMs + 1000 * second + 200 * row, 5, &losses);
      for (const Taken& tick : TakeBefore(kZeroMs + 1000 * second + 200 * row + 1, &raster)) {
        if (second > 30) missed += std::isnan(tick.values[2]) ? 1 : 0;
      }
    }
  }
  EXPECT_LE(missed, 1);
  EXPECT_EQ(losses.late, 1u);
}

TEST(MetricRasterTest, CountersBecomeRatesAndFallsGiveNone) {
  MetricRaster raster = Rows(true, 3);
  SampleLosses losses;
  std::vector<Taken> all;
  for (int64_t second = 0; second < 30; ++second) {
    for (int32_t row = 0; row < 3; ++row) {
      const int64_t since = row == 0 && second >= 20 ? second - 20 : second;
      raster.Observe(row, kZeroMs + 1000 * second, 7.0 * static_cast<double>(since), &losses);
    }
    for (Taken& tick : TakeBefore(kZeroMs + 1000 * (second + 1), &raster)) all.push_back(std::move(tick));
  }
  EXPECT_EQ(losses.resets, 1u);
  int unknown = 0;
  for (const Taken& tick : all) {
    for (const float value : tick.values) {
      if (std::isnan(value)) {
        ++unknown;
      } else {
        EXPECT_FLOAT_EQ(value, 7);
      }
    }
  }
  EXPECT_EQ(unknown, 1 + 3);  // the fall, and the first samples
}

TEST(MetricRasterTest, NothingIsHeldForATimeInWhichNobodySampled) {
  MetricRaster raster = Rows(false, 2);
  SampleLosses losses;
  size_t taken = 0;
  for (const int64_t begin_ms : {kZeroMs, kZeroMs + 86'400'000}) {
    for (int64_t second = 0; second < 20; ++second) {
      const int64_t now_ms = begin_ms + 1000 * second;
      taken += TakeBefore(now_ms, &raster).size();
      for (int32_t row = 0; row < 2; ++row) raster.Observe(row, now_ms, 1, &losses);
    }
  }
  EXPECT_LE(taken, 2 * 20u + MetricRaster::kExpectedTicks + 1);
  EXPECT_EQ(losses.over_limit, 0u);
}

TEST(MetricRasterTest, AClockThatDriftsIsFollowed) {
  MetricRaster raster = Rows(false, 8);
  SampleLosses losses;
  int known = 0;
  constexpr int64_t kTicks = 5000;
  for (int64_t second = 0; second < kTicks; ++second) {
    for (int32_t row = 0; row < 8; ++row) {
      // One of them lasts 1 ms longer per second: it has five fewer samples in the end.
      const int64_t time_ms = kZeroMs + 1000 * second + 10 * row + (row == 3 ? second : 0);
      if (time_ms < kZeroMs + 1000 * kTicks) raster.Observe(row, time_ms, 1, &losses);
    }
    for (const Taken& tick : TakeBefore(kZeroMs + 1000 * second, &raster)) known += std::isnan(tick.values[3]) ? 0 : 1;
  }
  EXPECT_GE(known, kTicks - 20);
}

TEST(SamplingIntervalTest, IsTheRoundOneThatIsNear) {
  EXPECT_EQ(ConfiguredInterval(1003), 1000);
  EXPECT_EQ(ConfiguredInterval(14'900), 15'000);
  EXPECT_EQ(ConfiguredInterval(1300), 1300);
  EXPECT_EQ(ConfiguredInterval(3), kShortestIntervalMs);
  EXPECT_EQ(ConfiguredInterval(0), kUnknownIntervalMs);
  EXPECT_EQ(MiddleInterval({}), 0);
  EXPECT_EQ(MiddleInterval({4, 1, 3, 2}), 2);
}

}  // namespace
}  // namespace lockstep
