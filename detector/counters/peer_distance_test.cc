#include "detector/counters/peer_distance.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "detector/testing/reference_statistics.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Play {
  int hosts = 8;
  int odd_host = -1;
  double odd_factor = 1;
  Metric metric = Metric::kGpuPowerWatts;
  int seconds = 60;
};

std::vector<CounterOutlier> Watch(const Play& play, PeerDistance* distance) {
  Random random(4);
  std::vector<double> totals(static_cast<size_t>(play.hosts), 1e6);
  std::vector<CounterOutlier> found;
  for (int64_t second = 1; second <= play.seconds; ++second) {
    for (int host = 0; host < play.hosts; ++host) {
      double value = 300 + 10 * random.Gaussian();
      if (host == play.odd_host && second > 20) value *= play.odd_factor;
      double& total = totals[static_cast<size_t>(host)];
      total += value;
      const bool counter = play.metric != Metric::kGpuPowerWatts;
      distance->Observe(
          host,
          {.device = "x", .metric = play.metric, .host_ns = second * kNanosPerSecond, .value = counter ? total : value},
          second * kNanosPerSecond);
    }
    found = distance->Evaluate(second * kNanosPerSecond);
  }
  return found;
}

TEST(PeerDistanceTest, NamesTheOddHostAndNobodyElse) {
  for (const Metric metric : {Metric::kGpuPowerWatts, Metric::kNetReceiveBytesTotal}) {
    PeerDistance distance({});
    EXPECT_TRUE(Watch({.metric = metric}, &distance).empty());
    PeerDistance odd({});
    const auto found = Watch({.odd_host = 3, .odd_factor = 0.3, .metric = metric}, &odd);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].host_slot, 3);
    EXPECT_NEAR(found[0].median, 300, 15);
    EXPECT_NEAR(found[0].level, 90, 10);
  }
}

TEST(PeerDistanceTest, AbstainsBelowTheNumberOfPeers) {
  PeerDistance distance({.min_peer_hosts = 6});
  EXPECT_TRUE(Watch({.hosts = 5, .odd_host = 3, .odd_factor = 0.1}, &distance).empty());
}

TEST(PeerDistanceTest, DropsAndCountsWhatIsNoNumberAndSkipsResets) {
  PeerDistance distance({.max_series = 1});
  const auto sample = [](int64_t second, double value) {
    return MetricSample{.metric = Metric::kNetReceiveBytesTotal, .host_ns = second * kNanosPerSecond, .value = value};
  };
  distance.Observe(0, sample(1, std::nan("")), 1);
  distance.Observe(0, sample(1, std::numeric_limits<double>::infinity()), 1);
  EXPECT_EQ(distance.not_finite(), 2u);
  distance.Observe(0, sample(1, 1000), 1);
  distance.Observe(0, sample(2, 10), 2);
  EXPECT_EQ(distance.resets(), 1u);
  distance.Observe(1, sample(1, 10), 2);
  EXPECT_EQ(distance.refused(), 1u);
}

TEST(PeerDistanceTest, AgreesWithTheReferenceOnRandomGauges) {
  uint64_t named = 0, unnamed = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const size_t hosts = 6 + random.Below(7);
    std::vector<std::vector<ReferenceSample>> samples(hosts);
    std::vector<int64_t> high_since(hosts, 0);
    PeerDistance distance({});
    std::vector<double> centers(hosts, 100);
    for (double& center : centers) center = random.Unit() < 0.2 ? 100 + 200 * random.Unit() : 100;
    for (int64_t second = 1; second <= 40; ++second) {
      for (size_t host = 0; host < hosts; ++host) {
        const double value = centers[host] + 3 * random.Gaussian();
        samples[host].push_back({static_cast<double>(second), value});
        distance.Observe(
            static_cast<int32_t>(host),
            {.device = "x", .metric = Metric::kGpuPowerWatts, .host_ns = second * kNanosPerSecond, .value = value},
            second * kNanosPerSecond);
      }
      const std::vector<CounterOutlier> found = distance.Evaluate(second * kNanosPerSecond);
      const std::vector<double> scores = ReferencePeerScores(samples);
      std::map<int32_t, double> expected;
      for (size_t host = 0; host < hosts; ++host) {
        if (scores[host] < 8) high_since[host] = 0;
        if (scores[host] >= 8 && high_since[host] == 0) high_since[host] = second;
        if (high_since[host] != 0 && second - high_since[host] >= 10) {
          expected[static_cast<int32_t>(host)] = scores[host];
        }
      }
      ASSERT_EQ(found.size(), expected.size()) << "seed " << seed << " second " << second;
      for (const CounterOutlier& outlier : found) {
        ASSERT_TRUE(expected.contains(outlier.host_slot)) << "seed " << seed;
        EXPECT_NEAR(outlier.score, expected[outlier.host_slot], 1e-6 * outlier.score);
      }
      named += found.size();
      unnamed += hosts - found.size();
    }
  }
  EXPECT_GT(named, 1000u);
  EXPECT_GT(unnamed, 1000u);
}

}  // namespace
}  // namespace lockstep
