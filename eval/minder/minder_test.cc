// Minder on small made-up jobs: what it finds, what it cannot, and that nothing unusable alarms.

#include "eval/minder/minder.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eigen3/Eigen/Core>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/counters/machine_alarm.h"
#include "eval/minder/machine_history.h"
#include "eval/minder/metric_grid.h"
#include "eval/minder/minder_model.h"
#include "eval/minder/minder_training.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

struct Job {
  int hosts = 12;
  int64_t ticks = 600;
  uint64_t seed = 1;
  int bad_host = -1;
  int64_t bad_from = 200;
  int64_t bad_to = 600;
  bool bad_duty = false;  // else power alone shows it
};

// Two metrics: a wave that all share plus jitter; one or both with the bad host far below it.
MetricGrid MakeGrid(const Job& job) {
  Random random(job.seed);
  MetricGrid grid;
  for (const char* name : {"duty", "power"}) {
    MetricMatrix matrix;
    matrix.name = name;
    matrix.tick_ms = 1000;
    matrix.start_ms = 5000;
    matrix.values.resize(job.hosts, job.ticks);
    for (int host = 0; host < job.hosts; ++host) matrix.units.push_back({.host = host});
    for (int64_t tick = 0; tick < job.ticks; ++tick) {
      for (int host = 0; host < job.hosts; ++host) {
        const bool bad = host == job.bad_host && tick >= job.bad_from && tick < job.bad_to &&
                         (job.bad_duty || matrix.name == "power");
        const double wave = tick % 20 < 10 ? 400 : 500;
        matrix.values(host, tick) = static_cast<float>((bad ? 0.5 : 1) * wave + 10 * random.Gaussian());
      }
    }
    grid.metrics.push_back(std::move(matrix));
  }
  return grid;
}

const MinderModel& Model() {
  static const MinderModel* const model = [] {
    const MetricGrid healthy = MakeGrid({.seed = 77});
    const MinderHistory history{.grid = &healthy};
    const std::string metrics[] = {"duty", "power"};
    MinderTrainingOptions options;
    options.network.epochs = 10;
    options.network.batch = 8;
    options.max_windows = 600;
    return new MinderModel(TrainMinder({&history, 1}, metrics, options));
  }();
  return *model;
}

TEST(MinderTest, FindsTheMachineInMostVariants) {
  const MetricGrid grid = MakeGrid({.hosts = 32, .bad_host = 4});
  for (const MinderVariant variant :
       {MinderVariant::kMinder, MinderVariant::kRaw, MinderVariant::kConcatenated, MinderVariant::kMahalanobis}) {
    const MinderResult result = RunMinder(grid, Model(), {.variant = variant});
    ASSERT_EQ(result.alarms.size(), 1u) << static_cast<int>(variant);
    EXPECT_EQ(result.alarms[0].host, 4);
    EXPECT_EQ(result.alarms[0].metric_name, "power");
    EXPECT_NEAR(static_cast<double>(result.alarms[0].onset_ms), 205'000, 8000);
    EXPECT_NEAR(static_cast<double>(result.alarms[0].alarm_ms), 446'000, 9000) << "four minutes later";
    EXPECT_EQ(result.losses.calls, 2);
  }
}

// It learned that both metrics move together, and makes them do so: why the paper has one network per metric.
TEST(MinderTest, TheIntegratedNetworkNeedsMoreThanOneMetricToShowIt) {
  const MinderOptions integrated{.variant = MinderVariant::kIntegrated};
  EXPECT_TRUE(RunMinder(MakeGrid({.bad_host = 4}), Model(), integrated).alarms.empty());
  const MinderResult both = RunMinder(MakeGrid({.bad_host = 4, .bad_duty = true}), Model(), integrated);
  ASSERT_EQ(both.alarms.size(), 1u);
  EXPECT_EQ(both.alarms[0].host, 4);
}

TEST(MinderTest, EveryDistanceFindsIt) {
  const MetricGrid grid = MakeGrid({.bad_host = 9});
  for (const DistanceKind kind : {DistanceKind::kEuclid, DistanceKind::kManhattan, DistanceKind::kChebyshev}) {
    const MinderResult result = RunMinder(grid, Model(), {.distance = kind});
    ASSERT_EQ(result.alarms.size(), 1u);
    EXPECT_EQ(result.alarms[0].host, 9);
  }
}

TEST(MinderTest, ContinuityIsWhatKeepsAShortBurstQuiet) {
  const MetricGrid grid = MakeGrid({.bad_host = 4, .bad_from = 200, .bad_to = 230});
  EXPECT_TRUE(RunMinder(grid, Model(), {}).alarms.empty());
  const MinderResult hasty = RunMinder(grid, Model(), {.continuity_ms = 0});
  EXPECT_FALSE(hasty.alarms.empty());
}

TEST(MinderTest, AHealthyJobIsLeftAlone) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    EXPECT_TRUE(RunMinder(MakeGrid({.seed = seed}), Model(), {}).alarms.empty());
  }
}

TEST(MinderTest, AReplacedMachineIsNotAnsweredTwice) {
  const MetricGrid grid = MakeGrid({.ticks = 1500, .bad_host = 2, .bad_from = 100, .bad_to = 1500});
  const MinderResult result = RunMinder(grid, Model(), {});
  ASSERT_EQ(result.alarms.size(), 1u);
  EXPECT_NEAR(static_cast<double>(result.alarms[0].alarm_ms), 346'000, 9000);
  EXPECT_EQ(result.losses.calls, 4);
}

TEST(MinderTest, SameInputSameAnswer) {
  const MetricGrid grid = MakeGrid({.bad_host = 4});
  const MinderResult a = RunMinder(grid, Model(), {});
  const MinderResult b = RunMinder(grid, Model(), {});
  ASSERT_EQ(a.alarms.size(), b.alarms.size());
  for (size_t i = 0; i < a.alarms.size(); ++i) EXPECT_EQ(a.alarms[i].score, b.alarms[i].score);
}

TEST(MinderBadInputTest, TooFewMachines) {
  for (const int hosts : {1, 2}) {
    const MinderResult result = RunMinder(MakeGrid({.hosts = hosts, .bad_host = 0}), Model(), {});
    EXPECT_TRUE(result.alarms.empty());
    EXPECT_EQ(result.losses.too_few_machines, 4u) << "two metrics, two calls";
  }
  const MinderResult nothing = RunMinder({}, Model(), {});
  EXPECT_TRUE(nothing.alarms.empty());
  EXPECT_EQ(nothing.losses.absent_metrics, 2);
}

TEST(MinderBadInputTest, NothingButHoles) {
  MetricGrid grid = MakeGrid({});
  for (MetricMatrix& matrix : grid.metrics) matrix.values.setConstant(kMissing);
  const MinderResult result = RunMinder(grid, Model(), {});
  EXPECT_TRUE(result.alarms.empty());
  EXPECT_EQ(result.losses.too_few_machines, 4u);
}

TEST(MinderBadInputTest, InfinitiesAreHoles) {
  MetricGrid grid = MakeGrid({.bad_host = 4});
  for (MetricMatrix& matrix : grid.metrics) {
    for (int64_t tick = 0; tick < 600; tick += 7) {
      matrix.values(tick % 12, tick) = tick % 2 == 0 ? std::numeric_limits<float>::infinity() : kMissing;
    }
  }
  const MinderResult result = RunMinder(grid, Model(), {});
  ASSERT_EQ(result.alarms.size(), 1u);
  EXPECT_EQ(result.alarms[0].host, 4);
}

TEST(MinderBadInputTest, ConstantSeries) {
  MetricGrid grid = MakeGrid({});
  for (MetricMatrix& matrix : grid.metrics) matrix.values.setConstant(3);
  const MinderResult result = RunMinder(grid, Model(), {});
  EXPECT_TRUE(result.alarms.empty());
  EXPECT_EQ(result.losses.constant, 4u);
  EXPECT_TRUE(RunMinder(grid, Model(), {.variant = MinderVariant::kIntegrated}).alarms.empty());
}

TEST(MinderBadInputTest, TooShortForAWindow) {
  const MinderResult result = RunMinder(MakeGrid({.ticks = 7}), Model(), {});
  EXPECT_TRUE(result.alarms.empty());
  EXPECT_EQ(result.losses.too_short, 2u);
}

TEST(MinderBadInputTest, MetricsThatAreNotThere) {
  MetricGrid grid = MakeGrid({.bad_host = 4});
  grid.metrics.erase(grid.metrics.begin());
  grid.metrics.push_back(grid.metrics.front());
  grid.metrics.back().name = "unheard_of";
  const MinderResult result = RunMinder(grid, Model(), {});
  EXPECT_EQ(result.losses.absent_metrics, 1);
  EXPECT_EQ(result.losses.unknown_metrics, 1);
  ASSERT_EQ(result.alarms.size(), 1u) << "one metric less is no reason not to look at the others";
  EXPECT_TRUE(RunMinder(grid, Model(), {.variant = MinderVariant::kIntegrated}).alarms.empty());
}

TEST(MachineHistoryTest, FillsFromTheNearestAndAveragesDevices) {
  MetricMatrix matrix;
  matrix.tick_ms = 1000;
  matrix.units = {{0, "gpu0"}, {0, "gpu1"}, {3, "gpu0"}, {5, "gpu0"}};
  matrix.values.resize(4, 6);
  matrix.values << 1, kMissing, kMissing, kMissing, 5, kMissing,  //
      3, kMissing, kMissing, kMissing, kMissing, kMissing,        //
      kMissing, kMissing, 7, 8, kMissing, kMissing,               //
      kMissing, kMissing, kMissing, kMissing, kMissing, kMissing;
  const MachineHistory history = FillMachineHistory(matrix, {.begin_ms = 0, .tick_ms = 1000, .ticks = 6});
  EXPECT_EQ(history.hosts, (std::vector<int32_t>{0, 3}));
  Eigen::MatrixXf expected(2, 6);
  expected << 2, 2, 2, 5, 5, 5, 7, 7, 7, 8, 8, 8;
  EXPECT_EQ(history.values, expected);
}

TEST(MachineHistoryTest, NothingNewerThanTheRangeGoesIn) {
  MetricMatrix matrix;
  matrix.tick_ms = 1000;
  matrix.start_ms = 400;  // columns end at 1400, 2400, 3400
  matrix.units = {{.host = 0}};
  matrix.values.resize(1, 3);
  matrix.values << 1, 2, 3;
  const MachineHistory history = FillMachineHistory(matrix, {.begin_ms = 0, .tick_ms = 1000, .ticks = 3});
  Eigen::MatrixXf expected(1, 3);
  expected << 1, 1, 2;
  EXPECT_EQ(history.values, expected);
}

TEST(MinderTrainingTest, SameSeedSameBytesAndLabelsOrderTheMetrics) {
  const MetricGrid grid = MakeGrid({.seed = 5, .bad_host = 3});
  const MinderHistory labelled{.grid = &grid, .faults = {{.begin_ms = 205'000, .end_ms = 605'000}}};
  const MinderHistory unlabelled{.grid = &grid};
  const std::string metrics[] = {"duty", "power", "not_there"};
  MinderTrainingOptions options;
  options.network.epochs = 1;
  options.max_windows = 100;
  const MinderModel model = TrainMinder({&labelled, 1}, metrics, options);
  EXPECT_EQ(EncodeMinderModel(model), EncodeMinderModel(TrainMinder({&labelled, 1}, metrics, options)));
  ASSERT_EQ(model.metrics.size(), 2u);
  EXPECT_EQ(model.metrics[0].name, "power");
  EXPECT_EQ(TrainMinder({&unlabelled, 1}, metrics, options).metrics[0].name, "duty");
  EXPECT_TRUE(TrainMinder({}, metrics, options).metrics.empty());
}

}  // namespace
}  // namespace lockstep
