// Counters of a simulated job, in step with what the job does; and how untidy they are.

#include "sim/counters/episode_counters.h"

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
#include "detector/model/metric_table.h"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/replay.h"

namespace lockstep {
namespace {

CounterNoise NoNoise() {
  CounterNoise noise;
  noise.machine_offset = noise.machine_drift = noise.common_drift = noise.jitter = noise.spike_share = 0;
  noise.burst_per_hour = noise.missing_share = noise.gap_per_hour = noise.restart_per_hour = 0;
  noise.duplicate_share = noise.nan_share = noise.sentinel_share = noise.clock_skew_ms = noise.tick_spread_ms = 0;
  return noise;
}

CounterSpec CleanSpec() {
  CounterSpec spec;
  spec.hosts = 3;
  spec.devices_per_host = 2;
  spec.noise = NoNoise();
  spec.activity = {{.end_ms = 300'000}};
  return spec;
}

TEST(CounterNoiseTest, WithoutNoiseAllMachinesShowTheSame) {
  const MetricTable table = SimulateCounters(CleanSpec(), {}, 1);
  std::map<std::pair<std::string, Metric>, const MetricSeries*> first;
  for (const MetricSeries& series : table.series) {
    EXPECT_TRUE(std::is_sorted(series.time_ms.begin(), series.time_ms.end()));
    const auto [known, added] = first.emplace(std::pair(series.device, series.metric), &series);
    if (added) continue;
    EXPECT_EQ(series.time_ms, known->second->time_ms);
    if (FindMetric(series.metric)->kind == MetricKind::kGauge) {
      EXPECT_EQ(series.value, known->second->value) << series.name;
    } else {
      for (size_t i = 1; i < series.value.size(); ++i) {  // counters began to count at different moments
        EXPECT_NEAR(series.value[i] - series.value[i - 1], known->second->value[i] - known->second->value[i - 1], 1);
      }
    }
  }
}

TEST(CounterNoiseTest, SlowMetricsAreSampledLessOften) {
  std::set<int64_t> steps;
  for (const MetricSeries& series : SimulateCounters(CleanSpec(), {}, 1).series) {
    for (size_t i = 1; i < series.time_ms.size(); ++i) steps.insert(series.time_ms[i] - series.time_ms[i - 1]);
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(1000, 1000 * kSlowFactor));
}

// Each kind of untidiness alone, with about the share of samples that was asked for.
TEST(CounterNoiseTest, EachKindIsAsFrequentAsAsked) {
  const auto shares = [](const CounterNoise& noise) {
    CounterSpec spec = CleanSpec();
    spec.hosts = 12;
    spec.activity = {{.end_ms = 1'200'000}};
    const MetricTable clean = SimulateCounters(spec, {}, 2);
    spec.noise = noise;
    const MetricTable table = SimulateCounters(spec, {}, 2);
    double samples = 0, expected = 0, nan = 0, blank = 0, of_gpus = 0, twice = 0;
    for (size_t s = 0; s < table.series.size(); ++s) {
      const MetricSeries& series = table.series[s];
      expected += static_cast<double>(clean.series[s].value.size());
      samples += static_cast<double>(series.value.size());
      for (size_t i = 0; i < series.value.size(); ++i) {
        nan += std::isnan(series.value[i]) ? 1 : 0;
        blank += IsBlankSentinel(series.value[i]) ? 1 : 0;
        twice += i > 0 && series.time_ms[i] == series.time_ms[i - 1] ? 1 : 0;
      }
      if (series.device.rfind("gpu", 0) == 0) of_gpus += static_cast<double>(series.value.size());
    }
    return std::vector<double>{1 - samples / expected, nan / samples, blank / of_gpus, twice / samples};
  };
  CounterNoise noise = NoNoise();
  noise.missing_share = 0.1;
  EXPECT_NEAR(shares(noise)[0], 0.1, 0.01);
  noise = NoNoise();
  noise.nan_share = 0.05;
  EXPECT_NEAR(shares(noise)[1], 0.05, 0.005);
  noise = NoNoise();
  noise.sentinel_share = 0.05;
  EXPECT_NEAR(shares(noise)[2], 0.05, 0.005);
  noise = NoNoise();
  noise.duplicate_share = 0.05;
  EXPECT_NEAR(shares(noise)[3], 0.05, 0.005);
  noise = NoNoise();
  noise.gap_per_hour = 18;  // of 20 s: a tenth of the time
  EXPECT_NEAR(shares(noise)[0], 0.1, 0.04);
}

TEST(CounterNoiseTest, MachinesHaveLevelsOfTheirOwn) {
  CounterSpec spec = CleanSpec();
  spec.hosts = 400;
  spec.activity = {{.activity = Activity::kStuck, .end_ms = 3'000}};
  spec.noise.machine_offset = 0.05;
  std::vector<double> levels;
  for (const MetricSeries& series : SimulateCounters(spec, {}, 3).series) {
    if (series.metric == Metric::kGpuPowerWatts && series.device == "gpu0") levels.push_back(series.value.at(0));
    if (series.metric == Metric::kGpuPcieLinkWidth) {
      EXPECT_EQ(series.value.at(0), 16) << "a width has no level of its own";
    }
  }
  double mean = 0, variance = 0;
  for (const double level : levels) mean += level / static_cast<double>(levels.size());
  for (const double level : levels) variance += std::pow(level / mean - 1, 2) / static_cast<double>(levels.size());
  EXPECT_NEAR(std::sqrt(variance), 0.05, 0.008);
}

struct SimulatedJob {
  JobSpec job;
  ReplayResult replay;
  MetricTable table;
};

SimulatedJob Simulated(const std::vector<FaultSpec>& faults, int32_t interval_ms = 200) {
  SimulatedJob run;
  run.job = TypicalJob(32, 3);
  run.job.schedule.steps = 10;
  run.job.recording.counter_interval_ms = interval_ms;
  const Layout layout(run.job);
  run.replay = Replay(run.job, layout, 4, faults, nullptr);
  run.table = EpisodeCounters(run.job, layout, 4, faults, run.replay);
  return run;
}

// Mean of a metric of a device between two moments, over all hosts or one.
double MeanOf(const MetricTable& table, Metric metric, int64_t begin_ms, int64_t end_ms, int32_t host = -1) {
  double sum = 0, count = 0;
  for (const MetricSeries& series : table.series) {
    if (series.metric != metric || (host >= 0 && series.host != host)) continue;
    for (size_t i = 0; i < series.value.size(); ++i) {
      const bool usable = !std::isnan(series.value[i]) && !IsBlankSentinel(series.value[i]);
      if (series.time_ms[i] < begin_ms || series.time_ms[i] >= end_ms || !usable) continue;
      sum += series.value[i];
      ++count;
    }
  }
  EXPECT_GT(count, 0);
  return sum / count;
}

TEST(EpisodeCountersTest, LastAsLongAsTheJob) {
  const SimulatedJob run = Simulated({});
  const int64_t end_ms = run.replay.step_end_ns.back() / 1'000'000;
  EXPECT_EQ(run.table.hosts.size(), 4u);
  EXPECT_EQ(run.table.job, run.job.name);
  for (const MetricSeries& series : run.table.series) {
    if (series.metric != Metric::kGpuUtilizationRatio) continue;
    EXPECT_NEAR(static_cast<double>(series.time_ms.back()), static_cast<double>(end_ms), 1'500);
    EXPECT_LE(series.time_ms.front(), 1'500);
  }
}

TEST(EpisodeCountersTest, AfterAHangGpusAreBusyAndCool) {
  const SimulatedJob run = Simulated({{.kind = FaultKind::kNotEntered, .targets = {9}, .onset_step = 6}});
  ASSERT_TRUE(run.replay.hung);
  const int64_t hang_ms = run.replay.hang_ns / 1'000'000;
  const int64_t end_ms = hang_ms + kStuckSeconds * 1000;
  for (int32_t host : {0, 2, 3}) {
    EXPECT_GT(MeanOf(run.table, Metric::kGpuUtilizationRatio, hang_ms + 1'000, end_ms, host), 0.9);
    EXPECT_LT(MeanOf(run.table, Metric::kGpuPowerWatts, hang_ms + 1'000, end_ms, host), 300);
    EXPECT_LT(MeanOf(run.table, Metric::kGpuTensorActiveRatio, hang_ms + 1'000, end_ms, host), 0.01);
    EXPECT_GT(MeanOf(run.table, Metric::kGpuPowerWatts, hang_ms / 2, hang_ms, host), 400);
  }
}

TEST(EpisodeCountersTest, AFaultShowsOnItsHostFromItsFirstStepToItsLast) {
  const FaultSpec fault = {.kind = FaultKind::kHostSlow, .targets = {2}, .onset_step = 4, .duration_steps = 3};
  const SimulatedJob with = Simulated({fault});
  const int64_t begin_ms = with.replay.step_begin_ns[4] / 1'000'000;
  const int64_t end_ms = with.replay.step_end_ns[6] / 1'000'000;
  const auto busy = [&](int64_t from_ms, int64_t to_ms, int32_t host) {
    return MeanOf(with.table, Metric::kHostCpuBusyRatio, from_ms, to_ms, host);
  };
  EXPECT_GT(busy(begin_ms + 300, end_ms - 300, 2), busy(0, begin_ms - 300, 2) + 0.15);
  EXPECT_LT(busy(end_ms + 300, 1'000'000'000, 2), busy(0, begin_ms - 300, 2) + 0.1);
  EXPECT_LT(busy(begin_ms + 300, end_ms - 300, 1), busy(0, begin_ms - 300, 1) + 0.1) << "the neighbour";
}

TEST(EpisodeCountersTest, TheSameEpisodeHasTheSameCounters) {
  const SimulatedJob a = Simulated({}, 1000), b = Simulated({}, 1000);
  ASSERT_EQ(a.table.series.size(), b.table.series.size());
  for (size_t s = 0; s < a.table.series.size(); ++s) EXPECT_EQ(a.table.series[s].time_ms, b.table.series[s].time_ms);
}

}  // namespace
}  // namespace lockstep
