#include "detector/counters/counter_history.h"

#include <cstdint>
#include <vector>

#include "base/metric_catalog.h"
#include "detector/counters/machine_alarm.h"
#include "detector/counters/pace_average.h"
#include "detector/model/metric_table.h"
#include "detector/testing/counter_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kHosts = 64;
constexpr int kOdd = 3;

// One machine draws less power from `odd` on, and the whole job `loss` less from `slow` on.
Twist Odd(int odd, int slow, double loss) {
  return [=](int host, int second, Metric metric, double value) {
    if (metric != Metric::kGpuPowerWatts) return value;
    if (host == kOdd && second >= odd) value *= 0.6;
    return second >= slow ? (1 - loss) * value : value;
  };
}

constexpr int kNever = kSeconds;

TEST(CounterHistoryTest, WhatDegradesNobodyIsNoAccusation) {
  const MetricTable table = Job(kHosts, 1, Odd(kOnset, kNever, 0));
  EXPECT_EQ(Accused(DetectMachines(table, {})), std::vector<int32_t>{kOdd});
  EXPECT_EQ(Accused(AccuseMachines(table, {})), std::vector<int32_t>());
  EXPECT_FALSE(JudgeHistory(table, {}).degraded);
}

TEST(CounterHistoryTest, AccusesFromWhenTheJobIsKnownToBeDegraded) {
  const MetricTable table = Job(kHosts, 1, Odd(kOnset, kOnset + 60, 0.1));
  const std::vector<MachineAlarm> alarms = DetectMachines(table, {});
  const std::vector<MachineAlarm> accusations = AccuseMachines(table, {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{kOdd});
  ASSERT_EQ(Accused(accusations), std::vector<int32_t>{kOdd});
  EXPECT_LE(alarms[0].alarm_ms, kStartMs + 1000 * (kOnset + 20));
  EXPECT_GE(accusations[0].alarm_ms, kStartMs + 1000 * (kOnset + 60));
  EXPECT_LE(accusations[0].alarm_ms, kStartMs + 1000 * (kOnset + 80));
}

// A job that is not surely slower and a machine that has just begun to stand out confirm each other.
TEST(CounterHistoryTest, AJobThatSeemsSlowerSufficesForAMachineThatJustBeganToStandOut) {
  constexpr double kLoss = 0.012;
  constexpr int kLongBefore = kOnset - static_cast<int>(PaceAverage::kLongest) - 40;
  int at_once = 0;
  int long_before = 0;
  int surely_slower = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const CounterHistory nobody_odd = JudgeHistory(Job(kHosts, seed, Odd(kNever, kOnset, kLoss)), {});
    surely_slower += nobody_odd.degraded ? 1 : 0;
    const MetricTable together = Job(kHosts, seed, Odd(kOnset, kOnset, kLoss));
    at_once += AccuseMachines(together, {}).empty() ? 0 : 1;
    EXPECT_EQ(JudgeHistory(together, {}).degraded, !AccuseMachines(together, {}).empty()) << seed;
    long_before += AccuseMachines(Job(kHosts, seed, Odd(kLongBefore, kOnset, kLoss)), {}).empty() ? 0 : 1;
  }
  EXPECT_LE(surely_slower, 4);
  EXPECT_GE(at_once, 16);
  EXPECT_LE(long_before, 4);
}

// Counters that end tell that nobody reads them any more; only a degraded job makes that a fault.
TEST(CounterHistoryTest, SilenceAccusesOnlyWhereTheJobIsDegraded) {
  for (const bool hangs : {false, true}) {
    const auto nobody_stops = [](int) { return kOnset + 2; };
    MetricTable table = BusyJob(kHosts, 1, hangs ? Hangs(nobody_stops) : Unchanged);
    for (MetricSeries& series : table.series) {
      if (series.host != kOdd) continue;
      series.time_ms.resize(kOnset);
      series.value.resize(kOnset);
    }
    EXPECT_EQ(Accused(DetectMachines(table, {})), std::vector<int32_t>{kOdd}) << hangs;
    EXPECT_EQ(Accused(AccuseMachines(table, {})), hangs ? std::vector<int32_t>{kOdd} : std::vector<int32_t>()) << hangs;
  }
}

// By Prometheus' convention: where a counter began and that it was reset says nothing, how fast it grows does.
TEST(CounterHistoryTest, UnknownNamesThatEndInTotalAreCounters) {
  MetricTable table = Job(kHosts, 1);
  for (int32_t host = 0; host < kHosts; ++host) {
    MetricSeries series{.host = host, .name = "of_ours_total"};
    double value = 1000.0 * host * host;
    for (int second = 0; second < kSeconds; ++second) {
      if (host == kOdd && second == kOnset) value = 0;
      series.time_ms.push_back(kStartMs + 1000 * second);
      series.value.push_back(value += 100 + second % 7);
    }
    table.series.push_back(std::move(series));
  }
  const CounterHistory history = JudgeHistory(table, {});
  EXPECT_TRUE(history.cases.empty());
  EXPECT_EQ(history.losses.resets, 1u);
}

}  // namespace
}  // namespace lockstep
