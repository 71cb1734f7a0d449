#include "sim/counters/counter_simulation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "sim/counters/counter_effects.h"

namespace lockstep {
namespace {

CounterSpec Spec() {
  CounterSpec spec;
  spec.hosts = 6;
  spec.devices_per_host = 2;
  spec.activity = {{.activity = Activity::kTraining, .end_ms = 600'000, .step_seconds = 8},
                   {.activity = Activity::kPause, .begin_ms = 600'000, .end_ms = 700'000},
                   {.activity = Activity::kStuck, .begin_ms = 700'000, .end_ms = 800'000}};
  return spec;
}

const MetricSeries& Find(const MetricTable& table, int32_t host, const std::string& device, Metric metric) {
  for (const MetricSeries& series : table.series) {
    if (series.host == host && series.device == device && series.metric == metric) return series;
  }
  ADD_FAILURE() << "no such series";
  return table.series.front();
}

double MeanBetween(const MetricSeries& series, int64_t begin_ms, int64_t end_ms) {
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < series.time_ms.size(); ++i) {
    if (series.time_ms[i] < begin_ms || series.time_ms[i] >= end_ms) continue;
    if (std::isnan(series.value[i]) || series.value[i] == kBlankSentinel) continue;
    sum += series.value[i];
    ++count;
  }
  return sum / count;
}

TEST(CounterSimulationTest, SameSeedSameBytes) {
  const MetricTable a = SimulateCounters(Spec(), {}, 3);
  const MetricTable b = SimulateCounters(Spec(), {}, 3);
  const MetricTable c = SimulateCounters(Spec(), {}, 4);
  bool differs = false;
  ASSERT_EQ(a.series.size(), b.series.size());
  for (size_t s = 0; s < a.series.size(); ++s) {
    ASSERT_EQ(a.series[s].time_ms, b.series[s].time_ms);
    ASSERT_EQ(a.series[s].value.size(), b.series[s].value.size());
    for (size_t i = 0; i < a.series[s].value.size(); ++i) {
      const double x = a.series[s].value[i];
      ASSERT_TRUE(x == b.series[s].value[i] || (std::isnan(x) && std::isnan(b.series[s].value[i])));
    }
    differs |= a.series[s].value != c.series[s].value;
  }
  EXPECT_TRUE(differs);
}

TEST(CounterSimulationTest, SeriesAreSortedAndCountersRise) {
  CounterSpec spec = Spec();
  spec.noise.restart_per_hour = 0;
  const MetricTable table = SimulateCounters(spec, {}, 5);
  for (size_t s = 1; s < table.series.size(); ++s) {
    const MetricSeries& a = table.series[s - 1];
    const MetricSeries& b = table.series[s];
    ASSERT_LT(std::tie(a.host, a.device, a.name), std::tie(b.host, b.device, b.name));
  }
  for (const MetricSeries& series : table.series) {
    const bool counter = FindMetric(series.metric)->kind == MetricKind::kCounter;
    double last = 0;
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      if (i > 0) {
        ASSERT_GE(series.time_ms[i], series.time_ms[i - 1]);
      }
      if (!counter || std::isnan(series.value[i]) || series.value[i] == kBlankSentinel) continue;
      ASSERT_GE(series.value[i], last);
      last = series.value[i];
    }
  }
}

TEST(CounterSimulationTest, EveryActivityHasItsLevel) {
  const MetricTable table = SimulateCounters(Spec(), {}, 6);
  const MetricSeries& power = Find(table, 2, "gpu1", Metric::kGpuPowerWatts);
  const double training = MeanBetween(power, 0, 600'000);
  const double pause = MeanBetween(power, 605'000, 695'000);
  const double stuck = MeanBetween(power, 705'000, 800'000);
  EXPECT_GT(training, 2 * stuck);
  EXPECT_GT(stuck, 1.5 * pause);
  const MetricSeries& busy = Find(table, 2, "gpu1", Metric::kGpuUtilizationRatio);
  EXPECT_GT(MeanBetween(busy, 705'000, 800'000), 0.95);
}

TEST(CounterSimulationTest, AFaultShowsOnItsMachineWhileItLasts) {
  const CounterFault fault{
      .kind = FaultKind::kClockThrottled, .host = 3, .device = 1, .begin_ms = 200'000, .end_ms = 500'000};
  const MetricTable with = SimulateCounters(Spec(), {&fault, 1}, 7);
  const MetricTable without = SimulateCounters(Spec(), {}, 7);
  int changed = 0;
  for (size_t s = 0; s < with.series.size(); ++s) {
    const MetricSeries& a = with.series[s];
    const MetricSeries& b = without.series[s];
    ASSERT_EQ(a.time_ms, b.time_ms);
    for (size_t i = 0; i < a.value.size(); ++i) {
      if (a.value[i] == b.value[i] || std::isnan(a.value[i])) continue;
      ++changed;
      ASSERT_EQ(a.host, 3);
      ASSERT_EQ(a.device, "gpu1");
      ASSERT_GE(a.time_ms[i], 199'900);
      ASSERT_LE(a.time_ms[i], 500'300);
    }
  }
  EXPECT_GT(changed, 100);
}

TEST(CounterSimulationTest, AnUnreachableMachineFallsSilent) {
  const CounterFault fault{.kind = FaultKind::kMachineUnreachable, .host = 1, .begin_ms = 300'000, .end_ms = 800'000};
  const MetricTable table = SimulateCounters(Spec(), {&fault, 1}, 8);
  for (const MetricSeries& series : table.series) {
    if (series.host == 1) {
      EXPECT_LE(series.time_ms.back(), 300'300);
    } else {
      EXPECT_GT(series.time_ms.back(), 700'000);
    }
  }
}

TEST(CounterSimulationTest, JitterRemembersTheSampleBefore) {
  CounterSpec spec = Spec();
  spec.noise = {};
  spec.noise.missing_share = spec.noise.gap_per_hour = spec.noise.nan_share = spec.noise.sentinel_share = 0;
  spec.noise.duplicate_share = spec.noise.restart_per_hour = spec.noise.spike_share = 0;
  spec.noise.common_drift = spec.noise.machine_drift = 0;
  spec.activity = {{.activity = Activity::kStuck, .end_ms = 2'000'000}};
  const MetricTable table = SimulateCounters(spec, {}, 11);
  const MetricSeries& power = Find(table, 1, "gpu0", Metric::kGpuPowerWatts);
  const double mean = MeanBetween(power, 0, 2'000'000);
  double variance = 0, covariance = 0;
  for (size_t i = 1; i < power.value.size(); ++i) {
    variance += (power.value[i] - mean) * (power.value[i] - mean);
    covariance += (power.value[i] - mean) * (power.value[i - 1] - mean);
  }
  EXPECT_NEAR(covariance / variance, spec.noise.jitter_memory, 0.06);
  EXPECT_NEAR(std::sqrt(variance / static_cast<double>(power.value.size())) / mean, spec.noise.jitter, 0.003);
}

TEST(CounterSimulationTest, AfterARestartCountersBeginAtNothing) {
  CounterSpec spec = Spec();
  spec.noise.restart_per_hour = 4;
  const MetricTable table = SimulateCounters(spec, {}, 12);
  int falls = 0;
  for (int32_t host = 0; host < spec.hosts; ++host) {
    const MetricSeries& sent = Find(table, host, "mlx5_0/1", Metric::kIbTransmitBytesTotal);
    double last = 0;
    for (const double value : sent.value) {
      if (std::isnan(value)) continue;
      falls += value < last ? 1 : 0;
      last = value;
    }
  }
  EXPECT_GE(falls, 2);
  EXPECT_LE(falls, 20);
}

TEST(CounterSimulationTest, OneClockMayBeADayOff) {
  CounterSpec spec = Spec();
  spec.oddities = {{.kind = OddityKind::kClockOff, .host = 2, .amount = 86'400}};
  const MetricTable table = SimulateCounters(spec, {}, 13);
  EXPECT_GT(Find(table, 2, "", Metric::kHostCpuBusyRatio).time_ms.front(), 86'000'000);
  EXPECT_LT(Find(table, 1, "", Metric::kHostCpuBusyRatio).time_ms.back(), 900'000);
}

TEST(CounterEffectsTest, EveryKindOfMinderShowsSomewhereButNotEverywhere) {
  double shares = 0;
  for (const MinderFault& row : MinderMix()) {
    shares += row.share;
    if (row.kind == FaultKind::kMachineUnreachable) continue;
    std::map<size_t, int> seen;  // number of indicators -> faults
    for (uint64_t which = 0; which < 200; ++which) ++seen[DrawEffects({.kind = row.kind}, 9, which).size()];
    EXPECT_EQ(seen[0], 0) << row.name;
    EXPECT_GT(seen.size(), 2u) << row.name;
  }
  EXPECT_NEAR(shares, 1, 1e-9);
}

TEST(CounterEffectsTest, RandomFaultsFollowTheMix) {
  Random random(1);
  std::map<FaultKind, int> counts;
  const CounterSpec spec = Spec();
  for (int i = 0; i < 2000; ++i) {
    const CounterFault fault = RandomMinderFault(spec, random);
    ++counts[fault.kind];
    ASSERT_LT(fault.begin_ms, fault.end_ms);
    ASSERT_LE(fault.end_ms, 800'000);
  }
  EXPECT_NEAR(counts[FaultKind::kGpuLost] / 2000.0, 0.307, 0.04);
  EXPECT_NEAR(counts[FaultKind::kPcieDegraded] / 2000.0, 0.086, 0.03);
}

}  // namespace
}  // namespace lockstep
