// What the counters of a simulated job look like: levels by activity, counters that count, faults where and while they
// are, oddities that are nobody's fault. Without noise, so that levels can be told to the digit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/model/metric_table.h"
#include "sim/counters/counter_effects.h"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/counters/waveform.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

CounterSpec QuietSpec() {
  CounterSpec spec;
  spec.hosts = 4;
  spec.devices_per_host = 2;
  CounterNoise& noise = spec.noise;
  noise.machine_offset = noise.machine_drift = noise.common_drift = noise.jitter = noise.spike_share = 0;
  noise.burst_per_hour = noise.missing_share = noise.gap_per_hour = noise.restart_per_hour = 0;
  noise.duplicate_share = noise.nan_share = noise.sentinel_share = noise.clock_skew_ms = noise.tick_spread_ms = 0;
  spec.activity = {{.activity = Activity::kTraining, .end_ms = 200'000, .step_seconds = 4},
                   {.activity = Activity::kPause, .begin_ms = 200'000, .end_ms = 300'000},
                   {.activity = Activity::kStuck, .begin_ms = 300'000, .end_ms = 400'000}};
  return spec;
}

const MetricSeries& SeriesOf(const MetricTable& table, int32_t host, const std::string& device, Metric metric) {
  for (const MetricSeries& series : table.series) {
    if (series.host == host && series.device == device && series.metric == metric) return series;
  }
  ADD_FAILURE() << "no series of " << FindMetric(metric)->name;
  return table.series.front();
}

// The level of a gauge, or the rate of a counter per second, over the samples of [begin_ms, end_ms).
double MeanOf(const MetricSeries& series, int64_t begin_ms, int64_t end_ms) {
  const bool counts = FindMetric(series.metric)->kind == MetricKind::kCounter;
  double sum = 0, count = 0;
  for (size_t i = 1; i < series.value.size(); ++i) {
    if (series.time_ms[i - 1] < begin_ms || series.time_ms[i] >= end_ms) continue;
    const double seconds = static_cast<double>(series.time_ms[i] - series.time_ms[i - 1]) * 1e-3;
    sum += counts ? (series.value[i] - series.value[i - 1]) / seconds : series.value[i];
    ++count;
  }
  EXPECT_GT(count, 0) << series.name;
  return sum / count;
}

TEST(CounterShapeTest, LevelsFollowWhatTheJobDoes) {
  const MetricTable table = SimulateCounters(QuietSpec(), {}, 1);
  for (const Waveform& waveform : Waveforms()) {
    const MetricSeries& series = SeriesOf(
        table, 2, CounterDeviceName(waveform.device, waveform.device == CounterDevice::kHost ? 0 : 1), waveform.metric);
    const double training = 0.75 * waveform.compute + 0.25 * waveform.communication;
    const double tolerance = 1e-3 * std::max({waveform.compute, waveform.communication, 1.0});
    if (waveform.slow) continue;  // fifteen seconds hold no whole number of steps
    EXPECT_NEAR(MeanOf(series, 8'000, 196'500), training, 0.02 * training + tolerance) << series.name;
    EXPECT_NEAR(MeanOf(series, 202'000, 300'000), waveform.pause, 0.01 * waveform.pause + tolerance) << series.name;
    EXPECT_NEAR(MeanOf(series, 302'000, 400'000), waveform.stuck, 0.01 * waveform.stuck + tolerance) << series.name;
  }
}

TEST(CounterShapeTest, CountersCountWholeThingsAndNeverBackwards) {
  CounterSpec spec = QuietSpec();
  spec.noise.jitter = 0.1;
  int counters = 0;
  for (const MetricSeries& series : SimulateCounters(spec, {}, 2).series) {
    if (FindMetric(series.metric)->kind != MetricKind::kCounter) continue;
    ++counters;
    for (size_t i = 0; i < series.value.size(); ++i) {
      EXPECT_EQ(series.value[i], std::floor(series.value[i])) << series.name;
      if (i > 0) {
        EXPECT_GE(series.value[i], series.value[i - 1]) << series.name;
      }
    }
  }
  EXPECT_GT(counters, 20);
}

TEST(CounterShapeTest, EveryHostHasEverySeriesOnce) {
  const CounterSpec spec = QuietSpec();
  const MetricTable table = SimulateCounters(spec, {}, 3);
  std::map<int32_t, std::set<std::pair<std::string, std::string>>> series;
  for (const MetricSeries& one : table.series) {
    EXPECT_TRUE(series[one.host].emplace(one.device, one.name).second) << one.name;
    EXPECT_EQ(one.time_ms.size(), one.value.size());
  }
  ASSERT_EQ(series.size(), 4u);
  for (const auto& [host, of_host] : series) EXPECT_EQ(of_host, series[0]);
  size_t expected = 0;
  for (const Waveform& waveform : Waveforms()) expected += waveform.device == CounterDevice::kHost ? 1 : 2;
  EXPECT_EQ(series[0].size(), expected);
  EXPECT_EQ(table.hosts.at(3), CounterHostName(3));
  EXPECT_EQ(CounterHostName(3), "node-00003");
}

// Series that differ between two tables of one spec.
std::set<std::pair<int32_t, std::string>> Changed(const MetricTable& with, const MetricTable& without) {
  std::set<std::pair<int32_t, std::string>> changed;
  EXPECT_EQ(with.series.size(), without.series.size());
  for (size_t s = 0; s < with.series.size(); ++s) {
    if (with.series[s].value != without.series[s].value) changed.emplace(with.series[s].host, with.series[s].device);
  }
  return changed;
}

TEST(CounterFaultTest, EveryFaultStaysOnItsMachineAndWithinItsTime) {
  const MetricTable healthy = SimulateCounters(QuietSpec(), {}, 4);
  for (const FaultInfo& info : FaultTable()) {
    const bool shows = std::any_of(EffectTable().begin(), EffectTable().end(),
                                   [&](const CounterEffect& effect) { return effect.kind == info.kind; });
    if (info.kind == FaultKind::kMachineUnreachable) continue;
    const CounterFault fault = {.kind = info.kind, .host = 1, .device = 1, .begin_ms = 60'000, .end_ms = 150'000};
    const MetricTable table = SimulateCounters(QuietSpec(), {&fault, 1}, 4);
    const auto changed = Changed(table, healthy);
    EXPECT_EQ(!changed.empty(), shows) << info.name;
    for (const auto& [host, device] : changed) EXPECT_EQ(host, 1) << info.name;
    for (size_t s = 0; s < table.series.size(); ++s) {
      const MetricSeries& series = table.series[s];
      if (FindMetric(series.metric)->kind == MetricKind::kCounter) continue;  // what was counted stays counted
      for (size_t i = 0; i < series.value.size(); ++i) {
        if (series.value[i] == healthy.series[s].value[i]) continue;
        EXPECT_GE(series.time_ms[i], 60'000) << info.name;
        EXPECT_LT(series.time_ms[i], 150'000) << info.name;
      }
    }
  }
}

TEST(CounterFaultTest, AFaultOfTheWholeHostShowsOnAllItsDevices) {
  const MetricTable healthy = SimulateCounters(QuietSpec(), {}, 5);
  for (const CounterEffect& effect : EffectTable()) {
    if (!effect.whole_host || WaveformOf(effect.metric).device == CounterDevice::kHost) continue;
    const CounterFault fault = {.kind = effect.kind, .host = 3, .device = 0, .end_ms = 200'000};
    for (uint64_t seed = 5; seed < 25; ++seed) {
      const std::vector<DrawnEffect> drawn = DrawEffects(fault, seed, 0);
      const bool here =
          std::any_of(drawn.begin(), drawn.end(), [&](const DrawnEffect& d) { return d.effect == &effect; });
      if (!here || effect.mode != EffectMode::kScale) continue;
      const MetricTable table = SimulateCounters(QuietSpec(), {&fault, 1}, seed);
      for (const char* device : {"gpu0", "gpu1"}) {
        const double level = MeanOf(SeriesOf(table, 3, device, effect.metric), 8'000, 196'000);
        const double usual = MeanOf(SeriesOf(healthy, 3, device, effect.metric), 8'000, 196'000);
        EXPECT_LT(level, usual) << device;
      }
      break;
    }
  }
}

TEST(CounterFaultTest, ARampGrowsOverItsTime) {
  CounterFault fault = {.kind = FaultKind::kClockThrottled, .host = 0, .device = 0, .end_ms = 200'000};
  fault.ramp_ms = 180'000;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const MetricTable with = SimulateCounters(QuietSpec(), {&fault, 1}, seed);
    const MetricSeries& clock = SeriesOf(with, 0, "gpu0", Metric::kGpuSmClockHertz);
    const double early = MeanOf(clock, 4'000, 36'500), middle = MeanOf(clock, 80'000, 112'500),
                 late = MeanOf(clock, 160'000, 192'500);
    if (early == late) continue;  // this one does not show in the clock
    EXPECT_GT(early, middle);
    EXPECT_GT(middle, late);
  }
}

TEST(OddityTest, ALoadShiftMovesEverybodyWithinSomePerCent) {
  CounterSpec spec = QuietSpec();
  spec.hosts = 30;
  spec.oddities = {{.kind = OddityKind::kLoadShift, .begin_ms = 100'000, .end_ms = 200'000, .amount = 0.7}};
  const MetricTable table = SimulateCounters(spec, {}, 6);
  for (int32_t host = 0; host < 30; ++host) {
    const MetricSeries& sent = SeriesOf(table, host, "mlx5_0/1", Metric::kIbTransmitBytesTotal);
    const double ratio = MeanOf(sent, 108'000, 196'500) / MeanOf(sent, 8'000, 96'500);
    EXPECT_NEAR(ratio, 0.7, 0.3 * 0.3 + 0.03) << host;
    const MetricSeries& width = SeriesOf(table, host, "gpu0", Metric::kGpuPcieLinkWidth);
    EXPECT_EQ(*std::min_element(width.value.begin(), width.value.end()), 16);
  }
}

TEST(OddityTest, ABackupIsOfOneHostAndLeavesTheTrainingAsItWas) {
  CounterSpec spec = QuietSpec();
  const MetricTable usual = SimulateCounters(spec, {}, 7);
  spec.oddities = {{.kind = OddityKind::kBackup, .host = 2, .begin_ms = 50'000, .end_ms = 150'000}};
  const MetricTable table = SimulateCounters(spec, {}, 7);
  EXPECT_THAT(Changed(table, usual), ::testing::ElementsAre(std::pair<int32_t, std::string>(2, "")));
  const MetricSeries& wait = SeriesOf(table, 2, "", Metric::kHostCpuIowaitRatio);
  EXPECT_GT(MeanOf(wait, 52'000, 150'000), MeanOf(wait, 4'000, 48'000) + 0.02);
}

TEST(OddityTest, AWrongClockShiftsTimesAndNothingElse) {
  CounterSpec spec = QuietSpec();
  const MetricTable usual = SimulateCounters(spec, {}, 8);
  spec.oddities = {{.kind = OddityKind::kClockOff, .host = 1, .amount = -3'600}};
  const MetricTable table = SimulateCounters(spec, {}, 8);
  for (size_t s = 0; s < table.series.size(); ++s) {
    EXPECT_EQ(table.series[s].value, usual.series[s].value);
    const int64_t shift_ms = table.series[s].host == 1 ? -3'600'000 : 0;
    for (size_t i = 0; i < table.series[s].time_ms.size(); ++i) {
      ASSERT_EQ(table.series[s].time_ms[i], usual.series[s].time_ms[i] + shift_ms);
    }
  }
}

TEST(MinderFaultTest, FaultsLieInTheMiddleOfTheHistoryAndOnItsMachines) {
  Random random(9);
  CounterSpec spec = QuietSpec();
  spec.activity = {{.end_ms = 3'600'000}};
  std::set<int32_t> hosts, devices;
  for (int i = 0; i < 500; ++i) {
    const CounterFault fault = RandomMinderFault(spec, random);
    hosts.insert(fault.host);
    devices.insert(fault.device);
    EXPECT_GE(fault.begin_ms, 900'000);
    EXPECT_LE(fault.begin_ms, 2'700'000);
    EXPECT_GE(fault.end_ms - fault.begin_ms, 240'000);
    EXPECT_LE(fault.end_ms, 3'600'000);
    EXPECT_EQ(fault.severity, 1);
  }
  EXPECT_THAT(hosts, ::testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(devices, ::testing::ElementsAre(0, 1));
}

}  // namespace
}  // namespace lockstep
