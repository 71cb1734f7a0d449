// What signs of machines count when the job gets into trouble, and whose they are then.

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/counter_history.h"
#include "detector/counters/machine_alarm.h"
#include "detector/counters/peer_detector.h"
#include "detector/model/metric_table.h"
#include "detector/testing/counter_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kHosts = 60;

// Less than single readings show.
Twist ALittleLess(int host) { return Scale(host, 1, Metric::kGpuPowerWatts, 0.97); }

// Seconds from kOnset to the first alarm about a host; kSeconds = there is none.
int SecondsToAlarm(const std::vector<MachineAlarm>& alarms, int32_t host) {
  for (const MachineAlarm& alarm : alarms) {
    if (alarm.host == host) return static_cast<int>((alarm.alarm_ms - kStartMs) / 1000) - kOnset;
  }
  return kSeconds;
}

TEST(SignMeaningTest, ASmallShiftAccusesWhoChangedWhenTheJobBecameSlower) {
  const std::vector<MachineAlarm> alarms = DetectMachines(Job(kHosts, 31, Slower(ALittleLess(5))), {});
  EXPECT_EQ(Accused(alarms), std::vector<int32_t>{5});
  EXPECT_LE(SecondsToAlarm(alarms, 5), 80);
  EXPECT_GE(SecondsToAlarm(DetectMachines(Job(kHosts, 31, ALittleLess(5)), {}), 5), 120) << "the job fares well";
  EXPECT_EQ(Accused(DetectMachines(Job(kHosts, 31, Slower(Unchanged)), {})), std::vector<int32_t>());
}

TEST(SignMeaningTest, OnceSomebodyIsAtFaultASmallShiftOfAnotherIsNone) {
  const Twist broken = Scale(7, 1, Metric::kGpuPowerWatts, 0.5);
  const auto both = [=](int host, int second, Metric metric, double value) {
    return broken(host, second, metric, ALittleLess(5)(host, second, metric, value));
  };
  const std::vector<MachineAlarm> alarms = DetectMachines(Job(kHosts, 31, Slower(both)), {});
  EXPECT_LE(SecondsToAlarm(alarms, 7), 20);
  EXPECT_GE(SecondsToAlarm(alarms, 5), 120);
}

// Temperatures of GPUs, read every 15 s; that of host 3 rises by `hotter`.
void AddTemperatures(MetricTable* table, double hotter) {
  const MetricInfo* const info = FindMetric(Metric::kGpuTemperatureCelsius);
  Random random(21);
  for (int host = 0; host < static_cast<int>(table->hosts.size()); ++host) {
    MetricSeries series{.host = host, .device = "gpu0", .name = std::string(info->name), .metric = info->metric};
    for (int second = 5; second < kSeconds; second += 15) {
      series.time_ms.push_back(kStartMs + 1000 * second);
      series.value.push_back(60 + random.Gaussian() + (host == 3 && second >= kOnset ? hotter : 0));
    }
    table->series.push_back(std::move(series));
  }
}

TEST(SignMeaningTest, AGpuThatIsHotterSinceTheJobIsSlowerAccuses) {
  MetricTable well = Job(kHosts, 32);
  AddTemperatures(&well, 4);
  EXPECT_EQ(Accused(DetectMachines(well, {})), std::vector<int32_t>());
  MetricTable slower = Job(kHosts, 32, Slower(Unchanged));
  AddTemperatures(&slower, 4);
  EXPECT_LE(SecondsToAlarm(DetectMachines(slower, {}), 3), 90);
}

// Sums of work tell of the time before a hang, in which some did a little less than others.
TEST(SignMeaningTest, ALittleLessWorkBeforeAHangIsNoStop) {
  const Twist hangs = Hangs([](int host) { return host == 5 ? kOnset : kSeconds; });
  const auto less_before = [&](int host, int second, Metric metric, double value) {
    const bool less = host == 9 && metric == Metric::kGpuPowerWatts && second >= kOnset - 40;
    return hangs(host, second, metric, less ? 0.97 * value : value);
  };
  EXPECT_EQ(Accused(DetectMachines(BusyJob(32, 19, less_before), {})), std::vector<int32_t>{5});
}

// Several machines work less for a moment, and one of them goes on.
TEST(SignMeaningTest, WhoStaysAwayLongAfterTheOthersCameBackIsAccused) {
  const auto some = [](int last) {
    return [last](int host, int second, Metric metric, double value) {
      const bool one = host == 5 && second < last;
      const bool here = host >= 3 && host < 8 && second >= kOnset && (second < kOnset + 15 || one);
      return here && metric == Metric::kGpuPowerWatts ? 0.8 * value : value;
    };
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 33, some(kOnset + 15)), {})), std::vector<int32_t>());
  const std::vector<MachineAlarm> alarms = DetectMachines(Job(16, 33, some(kSeconds)), {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{5});
  EXPECT_GE(alarms[0].alarm_ms, kStartMs + 1000 * (kOnset + 60));
}

}  // namespace
}  // namespace lockstep
