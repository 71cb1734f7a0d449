#include "eval/minder/metric_grid.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "detector/model/metric_table.h"
#include "detector/verdict/counter_reasons.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kDayMs = 86'400'000;

MetricSeries Gauge(int32_t host, std::vector<int64_t> time_ms, std::vector<double> value) {
  return {host, "gpu0", "gpu_power_watts", Metric::kGpuPowerWatts, std::move(time_ms), std::move(value)};
}

MetricSeries Counter(int32_t host, std::vector<int64_t> time_ms, std::vector<double> value) {
  return {host, "", "host_oom_kills_total", Metric::kHostOomKillsTotal, std::move(time_ms), std::move(value)};
}

MetricSeries Regular(int32_t host, int64_t start_ms, int samples) {
  MetricSeries series = Gauge(host, {}, {});
  for (int i = 0; i < samples; ++i) {
    series.time_ms.push_back(start_ms + 1000 * i);
    series.value.push_back(i);
  }
  return series;
}

std::vector<float> Row(const MetricMatrix& matrix, int row) {
  std::vector<float> values;
  for (Eigen::Index column = 0; column < matrix.values.cols(); ++column) {
    if (!std::isnan(matrix.values(row, column))) values.push_back(matrix.values(row, column));
  }
  return values;
}

TEST(MetricGridTest, NothingGivesNothing) {
  const MetricGrid grid = BuildGrid({}, {});
  EXPECT_TRUE(grid.metrics.empty());
  EXPECT_EQ(grid.Find("gpu_power_watts"), nullptr);
  EXPECT_EQ(Sentence(LeftOut(grid.losses, {})), "");
  EXPECT_TRUE(BuildGrid({.job = "j", .hosts = {"a"}, .series = {Gauge(0, {}, {})}}, {}).metrics.empty());
}

TEST(MetricGridTest, AlignsSeriesThatSampleAtDifferentMomentsOfATick) {
  MetricTable table{.job = "j", .hosts = {"a", "b", "c"}};
  for (const int64_t phase : {0, 480, 970}) {
    table.series.push_back(Regular(static_cast<int32_t>(table.series.size()), 5'000'000 + phase, 50));
    // Jitter about the edge of a tick must not put two samples into one tick and none into the next.
    MetricSeries& series = table.series.back();
    for (size_t i = 0; i < series.time_ms.size(); ++i) series.time_ms[i] += i % 2 == 0 ? 40 : -40;
  }
  const MetricGrid grid = BuildGrid(table, {});
  ASSERT_EQ(grid.metrics.size(), 1u);
  const MetricMatrix& matrix = grid.metrics[0];
  EXPECT_EQ(grid.Find(matrix.name), &matrix);
  EXPECT_NEAR(static_cast<double>(matrix.tick_ms), 1000, 81);
  for (int row = 0; row < 3; ++row) EXPECT_GE(Row(matrix, row).size(), 44u);
}

TEST(MetricGridTest, AColumnHoldsNothingNewerThanItsEnd) {
  for (int64_t phase = 0; phase < 1000; phase += 77) {
    MetricTable table{.job = "j", .hosts = {"a", "b"}};
    table.series = {Regular(0, 1'000'000, 30), Regular(1, 1'000'000 + phase, 30)};
    for (MetricSeries& series : table.series) {
      for (size_t i = 0; i < series.time_ms.size(); ++i) series.value[i] = static_cast<double>(series.time_ms[i]);
    }
    const MetricGrid grid = BuildGrid(table, {});
    const MetricMatrix& matrix = grid.metrics.at(0);
    for (Eigen::Index column = 0; column < matrix.values.cols(); ++column) {
      for (Eigen::Index row = 0; row < 2; ++row) {
        if (std::isnan(matrix.values(row, column))) continue;
        EXPECT_LE(matrix.values(row, column), static_cast<float>(matrix.TickEndMs(column)));
        EXPECT_LE(matrix.values(row, column), static_cast<float>(matrix.known_ms[static_cast<size_t>(column)]));
      }
    }
    EXPECT_EQ(Row(matrix, 0).size(), 30u);
    EXPECT_EQ(Row(matrix, 1).size(), 30u) << phase;
  }
}

// A metric that is read every 15 s is known when it was read, and not when its tick is over.
TEST(MetricGridTest, AColumnIsKnownWithItsNewestSample) {
  MetricTable table{.job = "j", .hosts = {"a", "b"}};
  for (int32_t host = 0; host < 2; ++host) {
    MetricSeries series = Gauge(host, {}, {});
    for (int64_t i = 0; i < 40; ++i) {
      if (i == 20) continue;
      series.time_ms.push_back(1'000'000 + 15'000 * i + 100 * host);
      series.value.push_back(static_cast<double>(i));
    }
    table.series.push_back(series);
  }
  const MetricGrid grid = BuildGrid(table, {});
  const MetricMatrix& matrix = grid.metrics.at(0);
  ASSERT_EQ(matrix.known_ms.size(), static_cast<size_t>(matrix.values.cols()));
  for (Eigen::Index column = 0; column < matrix.values.cols(); ++column) {
    const int64_t known_ms = matrix.known_ms[static_cast<size_t>(column)];
    EXPECT_LE(known_ms, matrix.TickEndMs(column));
    if (column > 0) {
      EXPECT_GE(known_ms, matrix.known_ms[static_cast<size_t>(column) - 1]);
    }
    if (std::isnan(matrix.values(1, column))) continue;
    EXPECT_EQ(known_ms, 1'000'100 + 15'000 * static_cast<int64_t>(matrix.values(1, column)));
  }
}

TEST(MetricGridTest, CountersBecomeRatesAndAFallGivesNone) {
  MetricTable table{.job = "j", .hosts = {"a"}};
  table.series = {Counter(0, {0, 1000, 2000, 4000, 5000, 6000}, {100, 110, 130, 170, 3, 8})};
  const MetricGrid grid = BuildGrid(table, {});
  EXPECT_TRUE(grid.metrics.at(0).is_rate);
  EXPECT_EQ(Row(grid.metrics[0], 0), (std::vector<float>{10, 20, 20, 5}));
  EXPECT_EQ(grid.losses.resets, 1u);
}

TEST(MetricGridTest, CountsWhatItCannotUse) {
  MetricTable table{.job = "j", .hosts = {"a"}};
  table.series = {
      Gauge(0, {0, 1000, 2000, 3000, 3000, 4000, 2500, 5000, 6000, 7000, 8000, 90 * kDayMs},
            {1, kNan, kInfinity, 2, 3, -kInfinity, 4, 9223372036854775794.0, 2147483634, 140737488355328, 5, 6}),
      Gauge(0, {0}, {7}),
      {0, "pid:77", "process_resident_bytes", Metric::kUnspecified, {0, 1000}, {1, 2}}};
  // Most series end where the job ends; one sample of another year does not stretch it.
  for (int device = 1; device < 5; ++device) {
    table.series.push_back(Regular(0, 0, 9));
    table.series.back().device = "gpu" + std::to_string(device);
  }
  const MetricGrid grid = BuildGrid(table, {});
  EXPECT_EQ(Row(grid.metrics.at(0), 0), (std::vector<float>{1, 2, 5}));
  EXPECT_EQ(grid.losses.not_finite, 3u);
  EXPECT_EQ(grid.losses.blank, 3u);
  EXPECT_EQ(grid.losses.duplicate, 1u);
  EXPECT_EQ(grid.losses.out_of_order, 1u);
  EXPECT_EQ(grid.losses.far_off, 1u);
  EXPECT_EQ(grid.losses.repeated_series, 1u);
  EXPECT_EQ(grid.losses.process_series, 1u);
  EXPECT_EQ(grid.losses.samples, 12u + 1 + 2 + 4 * 9);
  EXPECT_NE(Sentence(LeftOut(grid.losses, table.hosts)).find("3 blank values"), std::string::npos);
}

TEST(MetricGridTest, DropsHostsThatLiveInAnotherTime) {
  MetricTable table{.job = "j", .hosts = {"a", "b", "c", "late", "yesterday", "minutes"}};
  for (int32_t host = 0; host < 3; ++host) table.series.push_back(Regular(host, 10 * kDayMs, 900));
  table.series.push_back(Regular(3, 10 * kDayMs + 600'000, 300));  // joined late: ends with the others
  table.series.push_back(Regular(4, 9 * kDayMs, 900));
  table.series.push_back(Regular(5, 10 * kDayMs + 300'000, 900));
  const MetricGrid grid = BuildGrid(table, {});
  EXPECT_EQ(grid.losses.misclocked_hosts, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(grid.metrics.at(0).units.size(), 4u);
  EXPECT_LE(grid.metrics[0].values.cols(), 902);
  EXPECT_NE(Sentence(LeftOut(grid.losses, table.hosts)).find("host yesterday and 1 more"), std::string::npos);
}

TEST(MetricGridTest, KeepsTheNewestTicksWhenThereAreTooMany) {
  MetricTable table{.job = "j", .hosts = {"a", "b"}};
  table.series = {Regular(0, 0, 1000), Regular(1, 0, 1000)};
  for (const GridOptions& options : {GridOptions{.max_ticks = 100}, GridOptions{.max_cells = 200}}) {
    const MetricGrid grid = BuildGrid(table, options);
    EXPECT_EQ(grid.metrics.at(0).values.cols(), 100);
    EXPECT_EQ(Row(grid.metrics[0], 1).back(), 999);
    EXPECT_GE(grid.losses.over_limit, 2u * 900);
  }
}

TEST(MetricGridTest, EachMetricHasItsOwnTick) {
  MetricTable table{.job = "j", .hosts = {"a"}};
  table.series = {Regular(0, 0, 61),
                  {0, "", "slow", Metric::kUnspecified, {0, 15000, 30000, 45000, 60000}, {1, 2, 3, 4, 5}}};
  const MetricGrid grid = BuildGrid(table, {});
  EXPECT_EQ(grid.Find("gpu_power_watts")->tick_ms, 1000);
  EXPECT_EQ(grid.Find("slow")->tick_ms, 15000);
  EXPECT_EQ(Row(*grid.Find("slow"), 0), (std::vector<float>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace lockstep
