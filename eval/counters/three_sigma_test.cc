#include "eval/counters/three_sigma.h"

#include <string>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Hosts with one gauge around 100; one of them is `off` away from second 200 on.
MetricTable Table(int32_t hosts, int32_t odd_host, double off) {
  Random random(7);
  MetricTable table;
  for (int32_t host = 0; host < hosts; ++host) {
    table.hosts.push_back("node-" + std::to_string(host));
    MetricSeries series{.host = host, .device = "gpu0", .name = "gpu_power_watts"};
    for (int64_t second = 0; second < 400; ++second) {
      series.time_ms.push_back(second * 1000);
      series.value.push_back(100 + random.Gaussian() + (host == odd_host && second >= 200 ? off : 0));
    }
    table.series.push_back(series);
  }
  return table;
}

TEST(ThreeSigmaTest, NamesTheOneThatStaysAway) {
  const std::vector<MachineAlarm> alarms = DetectByThreeSigma(Table(32, 5, 30));
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].host, 5);
  EXPECT_EQ(alarms[0].device, "gpu0");
  EXPECT_EQ(alarms[0].metric_name, "gpu_power_watts");
  EXPECT_GE(alarms[0].onset_ms, 200'000);
  EXPECT_GE(alarms[0].alarm_ms, 260'000);
  EXPECT_LE(alarms[0].alarm_ms, 268'000);
}

TEST(ThreeSigmaTest, HealthyMachinesAreLeftInPeace) { EXPECT_TRUE(DetectByThreeSigma(Table(32, -1, 0)).empty()); }

TEST(ThreeSigmaTest, AmongTenNobodyCanBeThatFarAway) { EXPECT_TRUE(DetectByThreeSigma(Table(10, 5, 1000)).empty()); }

TEST(ThreeSigmaTest, NothingToLookAtIsSilence) {
  EXPECT_TRUE(DetectByThreeSigma({}).empty());
  EXPECT_TRUE(DetectByThreeSigma(Table(1, 0, 50)).empty());
}

}  // namespace
}  // namespace lockstep
