#include "detector/counters/counter_stream.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/peer_detector.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Play {
  int hosts = 8;
  int odd_host = -1;
  double odd_factor = 1;
  Metric metric = Metric::kGpuPowerWatts;
  int seconds = 120;
  int every_seconds = 1;  // between samples
  double instead = 0;     // not 0: this value now and then
};

// From the middle on the odd host is different. Reports arrive in turn, a little after each second.
std::vector<MachineCase> Watch(const Play& play, CounterStream* stream) {
  Random random(4);
  std::vector<double> totals(static_cast<size_t>(play.hosts), 1e6);
  std::vector<MachineCase> found;
  for (int64_t second = 1; second <= play.seconds; ++second) {
    for (int host = 0; host < play.hosts; ++host) {
      double value = 300 + 10 * random.Gaussian();
      if (host == play.odd_host && second > play.seconds / 2) value *= play.odd_factor;
      double& total = totals[static_cast<size_t>(host)];
      total += value;
      if (second % play.every_seconds != 0) continue;
      const bool counter = play.metric != Metric::kGpuPowerWatts;
      double shown = counter ? total : value;
      if (play.instead != 0 && random.Below(5) == 0) shown = play.instead;
      stream->Observe(host, {.device = "x", .metric = play.metric, .host_ns = second * kNanosPerSecond, .value = shown},
                      second * kNanosPerSecond + host);
    }
    found = stream->Evaluate(second * kNanosPerSecond + 1000);
  }
  return found;
}

TEST(CounterStreamTest, NamesTheOddHostAndNobodyElse) {
  for (const Metric metric : {Metric::kGpuPowerWatts, Metric::kIbReceiveBytesTotal}) {
    CounterStream stream({});
    EXPECT_TRUE(Watch({.metric = metric}, &stream).empty());
    CounterStream odd({});
    const std::vector<MachineCase> found = Watch({.odd_host = 3, .odd_factor = 0.3, .metric = metric}, &odd);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].host, 3);
    EXPECT_NEAR(static_cast<double>(found[0].onset_ms), 61'000, 3000);
    EXPECT_NEAR(found[0].signs.at(0).excursion.median, 300, 15);
    EXPECT_NEAR(found[0].signs.at(0).excursion.level, 90, 15);
  }
}

TEST(CounterStreamTest, FollowsMetricsThatAreSampledRarely) {
  CounterStream stream({});
  const std::vector<MachineCase> found =
      Watch({.odd_host = 3, .odd_factor = 0.3, .seconds = 1200, .every_seconds = 15}, &stream);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, 3);
}

TEST(CounterStreamTest, AbstainsBelowTheNumberOfPeers) {
  CounterStream stream({.min_peer_hosts = 6});
  EXPECT_TRUE(Watch({.hosts = 5, .odd_host = 3, .odd_factor = 0.1}, &stream).empty());
}

TEST(CounterStreamTest, CountsWhatIsNotUsable) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 9223372036854775794.0}) {
    CounterStream stream({});
    EXPECT_TRUE(Watch({.instead = value}, &stream).empty());
    EXPECT_GT(stream.not_usable(), 100u);
  }
  CounterStream stream({});
  EXPECT_TRUE(Watch({.metric = Metric::kIbReceiveBytesTotal, .instead = 1}, &stream).empty());
  EXPECT_GT(stream.resets(), 100u);
}

TEST(CounterStreamTest, RefusesSeriesBeyondTheLimit) {
  CounterStream stream({.max_series = 7});
  Watch({}, &stream);
  EXPECT_GT(stream.refused(), 0u);
}

}  // namespace
}  // namespace lockstep
