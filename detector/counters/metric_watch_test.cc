#include "detector/counters/metric_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/job_regime.h"
#include "detector/counters/work_sums.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kHosts = 16;

MetricWatch Power() { return {"gpu_power_watts", Metric::kGpuPowerWatts, PeerGroupOptions()}; }

// Levels of units around `level`, one after the other, drawn anew each tick.
class Levels {
 public:
  std::vector<float> Draw(const std::vector<double>& levels) {
    std::vector<float> values;
    for (const double level : levels) values.push_back(static_cast<float>(level * (1 + 0.01 * random_.Gaussian())));
    return values;
  }

 private:
  Random random_{1};
};

double SlowMedian(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (static_cast<double>(values[half - 1]) + values[half]) / 2;
}

TEST(MetricWatchTest, MedianAndMeanAreThoseOfASortAndASum) {
  Random random(2);
  for (const int hosts : {3, 4, 15, 64}) {
    MetricWatch watch = Power();
    for (int host = 0; host < hosts; ++host) watch.AddUnit(host, "gpu0", -1);
    for (int tick = 0; tick < 40; ++tick) {
      std::vector<float> values, known;
      double sum = 0;
      for (int host = 0; host < hosts; ++host) {
        const bool missing = hosts > 4 && random.Unit() < 0.1;
        values.push_back(missing ? std::numeric_limits<float>::quiet_NaN()
                                 : static_cast<float>(600 + 10 * random.Gaussian()));
        if (missing) continue;
        known.push_back(values.back());
        sum += values.back();
      }
      watch.Step(values, 1000 * tick, 1, 0);
      ASSERT_FALSE(watch.HasSigns());
      ASSERT_NEAR(watch.median(), SlowMedian(known), 1e-3);
      ASSERT_NEAR(watch.mean(), sum / static_cast<double>(known.size()), 1e-3);
    }
  }
}

TEST(MetricWatchTest, AUnitIsComparedWithThoseOfItsDutyOnly) {
  MetricWatch watch = Power();
  Levels draw;
  std::vector<double> levels;
  for (int host = 0; host < kHosts; ++host) {
    watch.AddUnit(host, "gpu0", host % 2);
    levels.push_back(host % 2 == 0 ? 600 : 400);
  }
  for (int tick = 0; tick < 100; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  EXPECT_FALSE(watch.HasSigns());
  // The level of the other duty, to the unit.
  levels[4] = 400;
  for (int tick = 100; tick < 130; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  std::vector<CounterSign> signs;
  watch.AppendSigns(7, &signs);
  ASSERT_EQ(signs.size(), 1u);
  EXPECT_EQ(signs[0].host, 4);
  EXPECT_EQ(signs[0].device, "gpu0");
  EXPECT_EQ(signs[0].watch, 7);
  EXPECT_EQ(signs[0].peers, kHosts / 2);
  EXPECT_EQ(signs[0].excursion.unit, 4);
  EXPECT_FALSE(signs[0].excursion.up);
  EXPECT_GE(signs[0].excursion.share, 1);
  EXPECT_NEAR(signs[0].excursion.median, 600, 10);
}

// Operation records may tell duties long after the first samples.
TEST(MetricWatchTest, DutiesThatAreSaidLaterSeparateUnitsFromThenOn) {
  MetricWatch watch = Power();
  for (int host = 0; host < 8; ++host) watch.AddUnit(host, "gpu0", -1);
  const std::vector<float> values = {10, 20, 30, 40, 50, 60, 70, 80};
  watch.Step(values, 1000, 1, 0);
  EXPECT_NEAR(watch.median(), 45, 1e-3);
  watch.SetDuties(std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1});
  watch.Step(values, 2000, 1, 0);
  EXPECT_NEAR(watch.median(), 30, 1e-3);
  EXPECT_EQ(watch.units(), 8);
  EXPECT_EQ(watch.HostOf(7), 7);
}

TEST(MetricWatchTest, DutiesThatOnlyNameTheGroupsThatAreThereChangeNothing) {
  MetricWatch watch = Power();
  Levels draw;
  std::vector<double> levels;
  for (int host = 0; host < kHosts; ++host) {
    watch.AddUnit(host, "gpu0", -1);
    levels.push_back(host < 5 ? 400 : 600);
  }
  for (int tick = 0; tick < 100; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  levels[2] = 500;
  for (int tick = 100; tick < 130; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  EXPECT_TRUE(watch.HasSigns());
  std::vector<int32_t> duties(kHosts, 7);
  for (int host = 0; host < 5; ++host) duties[host] = 9;
  watch.SetDuties(duties);
  EXPECT_TRUE(watch.HasSigns()) << "the groups are those that levels told";
  watch.SetDuties(duties);
  EXPECT_TRUE(watch.HasSigns());
  duties[kHosts - 1] = 9;
  watch.SetDuties(duties);
  EXPECT_FALSE(watch.HasSigns()) << "learnt anew";
}

TEST(MetricWatchTest, DutiesThatNobodyNamedAreToldByTheirLevels) {
  MetricWatch watch = Power();
  Levels draw;
  std::vector<double> levels;
  for (int host = 0; host < kHosts; ++host) {
    watch.AddUnit(host, "gpu0", -1);
    levels.push_back(host < 5 ? 400 : 600);
  }
  for (int tick = 0; tick < MetricWatch::kLearningTicks + 100; ++tick) {
    watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  }
  EXPECT_FALSE(watch.HasSigns());
  EXPECT_NEAR(watch.median(), 600, 5) << "of the larger group";
  levels[2] = 600;
  for (int tick = MetricWatch::kLearningTicks + 100; tick < MetricWatch::kLearningTicks + 130; ++tick) {
    watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  }
  std::vector<CounterSign> signs;
  watch.AppendSigns(0, &signs);
  ASSERT_EQ(signs.size(), 1u);
  EXPECT_EQ(signs[0].host, 2);
  EXPECT_EQ(signs[0].peers, 5);
}

TEST(MetricWatchTest, ResettledItTakesTheNewPlacesForUsual) {
  MetricWatch watch = Power();
  Levels draw;
  std::vector<double> levels(kHosts, 600);
  for (int host = 0; host < kHosts; ++host) watch.AddUnit(host, "gpu0", -1);
  for (int tick = 0; tick < 100; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  levels[3] = levels[9] = 500;
  for (int tick = 100; tick < 140; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  EXPECT_TRUE(watch.HasSigns());
  watch.Resettle();
  for (int tick = 140; tick < 240; ++tick) watch.Step(draw.Draw(levels), 1000 * tick, 1, 0);
  EXPECT_FALSE(watch.HasSigns());
}

// Pause frames in noise that remembers itself for five ticks. While the job hangs for long, there are none.
TEST(MetricWatchTest, ALongStandstillDoesNotMakeItForgetTheNoiseOfWork) {
  MetricWatch watch("net_transmit_pause_frames_total", Metric::kNetTransmitPauseFramesTotal, PeerGroupOptions());
  constexpr int kUnits = 256;
  for (int host = 0; host < kUnits; ++host) watch.AddUnit(host, "eth0", -1);
  Random random(4);
  std::vector<double> state(kUnits);
  std::vector<float> values(kUnits);
  double most = 0;
  for (int tick = 0; tick < 1500; ++tick) {
    const bool hangs = tick >= 400 && tick < 1000;
    for (size_t unit = 0; unit < kUnits; ++unit) {
      state[unit] = 0.8 * state[unit] + 0.6 * random.Gaussian();
      values[unit] = hangs ? 0 : static_cast<float>(std::max(0.0, std::round(20 + 8 * state[unit])));
    }
    watch.Step(values, 1000 * tick, 1, hangs ? kJobHangs : kJobWorks);
    std::vector<CounterSign> signs;
    watch.AppendSigns(0, &signs);
    for (const CounterSign& sign : signs) {
      most = std::max(most, sign.excursion.share);
      EXPECT_TRUE(sign.excursion.up) << "fewer pauses are no sign";
    }
  }
  EXPECT_LT(most, 0.4);
}

// What is learnt of units in their first moments may be off by as much as a small shift, and must not add up for ever.
TEST(MetricWatchTest, PlacesLearntInBadMomentsAreNoEvidence) {
  MetricWatch watch = Power();
  Random random(4);
  std::vector<double> state(64);
  std::vector<float> values(64);
  for (int32_t host = 0; host < 64; ++host) watch.AddUnit(host, "gpu0", -1);
  for (int tick = 0; tick < 900; ++tick) {
    for (int unit = 0; unit < 64; ++unit) {
      const auto index = static_cast<size_t>(unit);
      state[index] = 0.7 * state[index] + 0.714 * random.Gaussian();
      const double bad = unit > 55 && tick < 18 + 3 * (unit - 56) ? 4 : 0;
      values[index] = static_cast<float>(600 + 20 * (state[index] + bad));
    }
    watch.Step(values, 1000 * tick, 1, kJobWorks);
    std::vector<CounterSign> signs;
    watch.AppendSigns(0, &signs);
    for (const CounterSign& sign : signs) EXPECT_LT(sign.excursion.share, 1) << tick << " " << sign.host;
  }
}

// All stand at 0 until one machine has 5.
TEST(MetricWatchTest, AGaugeOfWholeNumbersIsAtLeastAsNoisyAsItsStep) {
  MetricWatch watch("of_ours", Metric::kUnspecified, PeerGroupOptions());
  for (int host = 0; host < kHosts; ++host) watch.AddUnit(host, "", -1);
  for (int tick = 0; tick < 400; ++tick) {
    std::vector<float> values(kHosts, 0);
    if (tick >= 300) values[3] = 5;
    watch.Step(values, 1000 * tick, 1, kJobWorks);
  }
  std::vector<CounterSign> signs;
  watch.AppendSigns(0, &signs);
  ASSERT_EQ(signs.size(), 1u);
  EXPECT_EQ(signs[0].host, 3);
  EXPECT_NEAR(signs[0].excursion.sigmas, 10, 3) << "half a step is noise";
}

TEST(MetricWatchTest, WithoutUnitsItKnowsNothing) {
  const MetricWatch watch = Power();
  EXPECT_TRUE(std::isnan(watch.median()));
  EXPECT_TRUE(std::isnan(watch.mean()));
  EXPECT_FALSE(watch.HasSigns());
}

// A counter that is read every 15 s tells of both ticks after a missing reading, while its peers tell of one.
TEST(MetricWatchTest, ASlowReadingOverAGapIsNotCompared) {
  for (const bool gap : {true, false}) {
    MetricWatch watch("ib_transmit_wait_total", Metric::kIbTransmitWaitTotal, PeerGroupOptions());
    for (int host = 0; host < kHosts; ++host) watch.AddUnit(host, "mlx5_0/1", -1);
    Levels levels;
    int tick = 0;
    const auto run = [&](int ticks, double level) {
      const std::vector<double> all(kHosts, level);
      for (const int end = tick + ticks; tick < end; ++tick) {
        watch.Step(levels.Draw(all), 15'000 * tick, 15, level > 0 ? 0 : 1);
      }
    };
    for (int i = 0; i < 5; ++i) {
      run(30, 20'000);
      run(30, 0);
    }
    run(30, 20'000);
    std::vector<float> pause(kHosts, 0);
    if (gap) pause[4] = std::numeric_limits<float>::quiet_NaN();
    watch.Step(pause, 15'000 * tick++, 15, 1);
    ASSERT_FALSE(watch.HasSigns());
    pause[4] = 1e6F;
    watch.Step(pause, 15'000 * tick++, 15, 1);
    EXPECT_EQ(watch.HasSigns(), !gap);
  }
}

// The strongest share of the evidence that the watch has against a host now.
double ShareOf(const MetricWatch& watch, int32_t host) {
  std::vector<CounterSign> signs;
  watch.AppendSigns(0, &signs);
  double most = 0;
  for (const CounterSign& sign : signs) most = std::max(most, sign.host == host ? sign.excursion.share : 0);
  return most;
}

// Some were read right before the pause, the others within it.
TEST(MetricWatchTest, WhereTheJobStopsAReadingMayBeOfBeforeOrAfter) {
  for (const double times : {1.0, 4.0}) {
    MetricWatch watch("ib_transmit_wait_total", Metric::kIbTransmitWaitTotal, PeerGroupOptions());
    for (int host = 0; host < kHosts; ++host) watch.AddUnit(host, "mlx5_0/1", -1);
    Levels levels;
    int tick = 0;
    for (const double level : {20'000, 0, 20'000, 0, 20'000}) {
      const std::vector<double> all(kHosts, level);
      for (const int end = tick + 40; tick < end; ++tick) {
        watch.Step(levels.Draw(all), 15'000 * tick, 15, level > 0 ? kJobWorks : kJobStands);
      }
    }
    std::vector<float> pause(kHosts, 0);
    pause[4] = static_cast<float>(20'000 * times);
    watch.Step(pause, 15'000 * tick, 15, kJobStands);
    EXPECT_EQ(watch.HasSigns(), times > 1) << times;
  }
}

// Its first reading is a wild one, and its place is below the others'.
TEST(MetricWatchTest, WhoComesLaterIsNotJudgedByItsFirstReadings) {
  MetricWatch watch = Power();
  for (int host = 0; host < kHosts; ++host) watch.AddUnit(host, "gpu0", -1);
  Levels levels;
  double most = 0;
  for (int tick = 0; tick < 120; ++tick) {
    std::vector<double> all(kHosts, 600);
    all[4] = tick == 30 ? 1600 : 560;
    std::vector<float> values = levels.Draw(all);
    if (tick < 30) values[4] = std::numeric_limits<float>::quiet_NaN();
    watch.Step(values, 1000 * tick, 1, kJobWorks);
    most = std::max(most, ShareOf(watch, 4));
  }
  EXPECT_LT(most, 0.5);
}

// What a machine differs by is no less or more because the others are noisier for a while.
TEST(MetricWatchTest, WhoIsFarFromTheOthersByNatureStaysThereAsTheirNoiseFalls) {
  constexpr int kMachines = 8;
  Random random(9);
  MetricWatch watch = Power();
  for (int host = 0; host < kMachines; ++host) watch.AddUnit(host, "gpu0", -1);
  double most = 0;
  for (int tick = 0; tick < 1200; ++tick) {
    std::vector<float> values;
    for (int host = 0; host < kMachines; ++host) {
      values.push_back(static_cast<float>((host == 4 ? 540 : 600) + (tick < 100 ? 30 : 5) * random.Gaussian()));
    }
    watch.Step(values, 1000 * tick, 1, kJobWorks);
    most = std::max(most, ShareOf(watch, 4));
  }
  EXPECT_LT(most, 0.5);
}

// Among many machines the same wild readings come somewhere twice in a row; that is no more than chance does.
TEST(MetricWatchTest, TwoWildReadingsInARowSayNoMoreThanHowRareTheyAre) {
  constexpr int kMachines = 256;
  for (const double wild : {7.0, 2000.0}) {
    Random random(10);
    MetricWatch watch("ib_transmit_wait_total", Metric::kIbTransmitWaitTotal, PeerGroupOptions());
    for (int host = 0; host < kMachines; ++host) watch.AddUnit(host, "mlx5_0/1", -1);
    double most = 0;
    for (int tick = 0; tick < 80; ++tick) {
      std::vector<float> values;
      for (int host = 0; host < kMachines; ++host) {
        double sigmas = random.Unit() < 0.002 ? 7 : random.Gaussian();
        if (host == 4 && tick >= 60 && tick < 62) sigmas = wild;
        values.push_back(static_cast<float>(40'000 + 4'000 * sigmas));
      }
      watch.Step(values, 15'000 * tick, 15, kJobWorks);
      most = std::max(most, ShareOf(watch, 4));
    }
    if (wild > 100) {
      EXPECT_GT(most, 0.65);
    } else {
      EXPECT_LT(most, 0.6);
    }
  }
}

// Bursts that machines sample at different moments: single readings differ by more than the tenth that a unit lacks.
TEST(MetricWatchTest, LessWorkThatSingleReadingsHideShowsInSums) {
  constexpr int kOnset = 400;
  Random random(7);
  MetricWatch watch("gpu_nvlink_bytes_per_second", Metric::kGpuNvlinkBytesPerSecond, PeerGroupOptions());
  std::vector<double> moment;
  for (int host = 0; host < kHosts; ++host) {
    watch.AddUnit(host, "gpu0", -1);
    moment.push_back(0.4 * random.Unit());
  }
  int found = -1;
  for (int tick = 0; tick < 800; ++tick) {
    std::vector<float> values;
    for (int host = 0; host < kHosts; ++host) {
      const double place = (tick + moment[static_cast<size_t>(host)]) / 1.6;
      const double level = 100 + 60 * std::sin(6.283 * place) + random.Gaussian();
      values.push_back(static_cast<float>(host == 3 && tick >= kOnset ? 0.88 * level : level));
    }
    watch.Step(values, 1000 * tick, 1, 0);
    std::vector<CounterSign> signs;
    watch.AppendSigns(0, &signs);
    for (const CounterSign& sign : signs) {
      EXPECT_EQ(sign.host, 3);
      EXPECT_GE(tick, kOnset);
      const bool in_sums = sign.tick_seconds == WorkSums::kSeconds && !sign.excursion.up;
      if (in_sums && sign.excursion.share >= 1 && found < 0) found = tick;
    }
  }
  EXPECT_GE(found, kOnset);
  EXPECT_LE(found, kOnset + 80);
}

// A change of the load moves all, each by a little more or less than the others: the one that moved most is not odd.
TEST(MetricWatchTest, WhereAllHaveMovedNobodyIsAccused) {
  constexpr int kMachines = 48;
  Random random(8);
  MetricWatch watch = Power();
  std::vector<double> followed;
  for (int host = 0; host < kMachines; ++host) {
    watch.AddUnit(host, "gpu0", -1);
    followed.push_back(0.94 + 0.04 * random.Gaussian());
  }
  double strongest = 0;
  double in_sums = 0;
  for (int tick = 0; tick < 500; ++tick) {
    std::vector<float> values;
    for (const double share : followed) {
      const double level = 500 * (1 + 0.02 * random.Gaussian());
      values.push_back(static_cast<float>(tick < 300 ? level : share * level));
    }
    watch.Step(values, 1000 * tick, 1, 0);
    std::vector<CounterSign> signs;
    watch.AppendSigns(0, &signs);
    for (const CounterSign& sign : signs) {
      double& most = sign.tick_seconds == WorkSums::kSeconds ? in_sums : strongest;
      most = std::max(most, sign.excursion.share);
    }
  }
  EXPECT_LT(in_sums, 0.5);
  EXPECT_LT(strongest, 0.8);
}

}  // namespace
}  // namespace lockstep
