#include "detector/counters/peer_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/counter_history.h"
#include "detector/counters/machine_alarm.h"
#include "detector/model/metric_table.h"
#include "detector/model/sample_losses.h"
#include "detector/testing/counter_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
TEST(PeerDetectorTest, AccusesNobodyOfAHealthyJob) {
  for (const int hosts : {2, 3, 4, 16, 60})
    EXPECT_EQ(Accused(DetectMachines(Job(hosts, 1), {})), std::vector<int32_t>());
}

TEST(PeerDetectorTest, NamesTheMachineWithinTwentySecondsAndAsOfTheDataOfThen) {
  for (const int hosts : {4, 16, 60}) {
    const MetricTable table = Job(hosts, 2, Scale(1, 1, Metric::kGpuPowerWatts, 0.5));
    const std::vector<MachineAlarm> alarms = DetectMachines(table, {});
    ASSERT_EQ(Accused(alarms), std::vector<int32_t>{1}) << hosts;
    EXPECT_EQ(alarms[0].metric_name, "gpu_power_watts");
    EXPECT_EQ(alarms[0].device, "gpu0");
    EXPECT_GE(alarms[0].alarm_ms, 1'000'000 + 1000 * kOnset);
    EXPECT_LE(alarms[0].alarm_ms, 1'000'000 + 1000 * (kOnset + 20));
    // The same alarm from a history that ends there: nothing newer was used.
    MetricTable cut = table;
    for (MetricSeries& series : cut.series) {
      const auto end = std::upper_bound(series.time_ms.begin(), series.time_ms.end(), alarms[0].alarm_ms);
      series.value.resize(static_cast<size_t>(end - series.time_ms.begin()));
      series.time_ms.resize(series.value.size());
    }
    const std::vector<MachineAlarm> live = DetectMachines(cut, {});
    ASSERT_FALSE(live.empty());
    EXPECT_EQ(live[0].alarm_ms, alarms[0].alarm_ms);
  }
}

TEST(PeerDetectorTest, NamesATenthOfTheMachinesAtOnce) {
  const MetricTable table = Job(60, 3, Scale(7, 6, Metric::kGpuPowerWatts, 0.6));
  EXPECT_EQ(Accused(DetectMachines(table, {})), (std::vector<int32_t>{7, 8, 9, 10, 11, 12}));
}

TEST(PeerDetectorTest, WhatMovesManyMachinesIsNoMachinesFault) {
  EXPECT_TRUE(DetectMachines(Job(60, 4, Scale(7, 20, Metric::kGpuPowerWatts, 0.6)), {}).empty());
  EXPECT_TRUE(DetectMachines(Job(60, 5, Scale(0, 60, Metric::kGpuPowerWatts, 0.6)), {}).empty());
}

TEST(PeerDetectorTest, MoreWorkThanThePeersDoIsNoFault) {
  EXPECT_EQ(Accused(DetectMachines(Job(16, 8, Scale(3, 1, Metric::kIbTransmitBytesTotal, 1.3)), {})),
            std::vector<int32_t>());
  EXPECT_EQ(Accused(DetectMachines(Job(16, 8, Scale(3, 1, Metric::kIbTransmitBytesTotal, 0.6)), {})),
            std::vector<int32_t>({3}));
}

TEST(PeerDetectorTest, WorkSampledAtAnotherMomentIsNoLessWork) {
  // One machine sees a fifth of each burst one second later.
  const Twist late = [](int host, int second, Metric metric, double value) {
    if (host != 5 || metric != Metric::kIbTransmitBytesTotal || second < kOnset) return value;
    return value + (second % 10 == 7 ? -0.2 : second % 10 == 0 ? 0.2 : 0) * 27e9;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(24, 9, late), {})), std::vector<int32_t>());
}

TEST(PeerDetectorTest, LoadOfAHostAccusesItOnlyIfTheJobIsDegraded) {
  const auto backup = Scale(3, 1, Metric::kHostCpuBusyRatio, 4);
  EXPECT_TRUE(DetectMachines(Job(16, 6, backup), {}).empty());
  EXPECT_EQ(JudgeHistory(Job(16, 6, backup), {}).cases.size(), 1u);
  const auto degrading = [backup](int host, int second, Metric metric, double value) {
    if (metric == Metric::kGpuPowerWatts && second >= kOnset) value *= 0.85;
    return backup(host, second, metric, value);
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 6, degrading), {})), std::vector<int32_t>{3});
}

TEST(PeerDetectorTest, AHostThatDoesLessOfItsOwnHarmsNobody) {
  const auto idle = Slower(Scale(3, 1, Metric::kHostCpuBusyRatio, 0.4));
  EXPECT_EQ(Accused(DetectMachines(Job(16, 6, idle), {})), std::vector<int32_t>());
}

// Five per cent less of one machine suffice where the job is degraded and somebody must be at fault, but not beside a
// machine with more evidence against it.
TEST(PeerDetectorTest, WhereSomebodyMustBeAtFaultItIsTheLikeliest) {
  const auto dips = [](int host, int second, Metric metric, double value) {
    const bool here = host == 9 && metric == Metric::kGpuPowerWatts && second >= kOnset;
    return here ? 0.95 * value : value;
  };
  const auto worse_too = [dips](int host, int second, Metric metric, double value) {
    value = dips(host, second, metric, value);
    return host == 5 && metric == Metric::kGpuPowerWatts && second >= kOnset - 5 ? 0.9 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(64, 21, Slower(dips)), {})), std::vector<int32_t>{9});
  EXPECT_EQ(Accused(DetectMachines(Job(64, 21, Slower(worse_too)), {})), std::vector<int32_t>{5});
}

TEST(PeerDetectorTest, LoadThatComesLaterThanABrokenDeviceIsChance) {
  const auto load = [](int host, int second, Metric metric, double value) {
    return host == 3 && metric == Metric::kHostCpuBusyRatio && second >= kOnset + 25 ? 4 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 6, Slower(load)), {})), std::vector<int32_t>{3});
  const auto device_too = [load](int host, int second, Metric metric, double value) {
    value = load(host, second, metric, value);
    return host == 7 && metric == Metric::kGpuPowerWatts && second >= kOnset ? 0.5 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 6, Slower(device_too)), {})), std::vector<int32_t>{7});
  // Two machines with the same load are no chance.
  const auto both_loaded = [device_too](int host, int second, Metric metric, double value) {
    value = device_too(host, second, metric, value);
    return host == 4 && metric == Metric::kHostCpuBusyRatio && second >= kOnset + 20 ? 4 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 6, Slower(both_loaded)), {})), (std::vector<int32_t>{3, 4, 7}));
}

// In a synchronous job a machine cannot do less of the work of a step than was given to it.
TEST(PeerDetectorTest, ALittleLessTrafficAccusesOnlyWhereTheJobIsDegradedByIt) {
  const auto less = [](double factor, int begin) {
    return [factor, begin](int host, int second, Metric metric, double value) {
      return host == 5 && metric == Metric::kIbTransmitBytesTotal && second >= begin ? factor * value : value;
    };
  };
  EXPECT_EQ(Accused(DetectMachines(Job(60, 9, less(0.9, kOnset)), {})), std::vector<int32_t>());
  EXPECT_EQ(JudgeHistory(Job(60, 9, less(0.9, kOnset)), {}).cases.size(), 1u);
  EXPECT_EQ(Accused(DetectMachines(Job(60, 9, Slower(less(0.9, kOnset))), {})), std::vector<int32_t>{5});
  EXPECT_EQ(Accused(DetectMachines(Job(60, 9, Slower(less(0.9, kOnset + 100))), {})), std::vector<int32_t>());
  EXPECT_EQ(Accused(DetectMachines(Job(60, 9, less(0.6, kOnset)), {})), std::vector<int32_t>{5});
}

TEST(PeerDetectorTest, MoreWorkAccusesNotEvenWhereTheJobIsDegraded) {
  EXPECT_EQ(Accused(DetectMachines(Job(16, 8, Slower(Scale(3, 1, Metric::kIbTransmitBytesTotal, 1.3))), {})),
            std::vector<int32_t>());
  EXPECT_EQ(Accused(DetectMachines(Job(16, 8, Slower(Scale(3, 1, Metric::kIbTransmitBytesTotal, 0.6))), {})),
            std::vector<int32_t>({3}));
}

TEST(PeerDetectorTest, OfTwoMachinesOnlyTheOneThatLeftItsOwnPastIsNamed) {
  EXPECT_EQ(Accused(DetectMachines(Job(3, 7, Scale(1, 1, Metric::kGpuPowerWatts, 0.3)), {})), std::vector<int32_t>{1});
}

TEST(PeerDetectorTest, AMachineThatFallsSilentIsNamed) {
  const auto silent = [](int host, int second, Metric, double value) {
    return host == 5 && second >= kOnset ? kNan : value;
  };
  const std::vector<MachineAlarm> alarms = DetectMachines(Job(16, 8, silent), {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{5});
  EXPECT_EQ(alarms[0].metric_name, kSilenceName);
}

// Errors that are counted at all times and read every 15 s, on NVLinks of all hosts; `count` says how many a second.
void AddErrors(MetricTable* table, const std::function<double(int host, int second)>& count) {
  const MetricInfo* const info = FindMetric(Metric::kGpuNvlinkCrcErrorsTotal);
  for (int host = 0; host < static_cast<int>(table->hosts.size()); ++host) {
    MetricSeries series{.host = host, .device = "gpu0", .name = std::string(info->name)};
    series.metric = Metric::kGpuNvlinkCrcErrorsTotal;
    double total = 1000;
    for (int second = 0; second < kSeconds; ++second) {
      total += count(host, second);
      if (second % 15 != 5) continue;
      series.time_ms.push_back(1'000'000 + 1000 * second);
      series.value.push_back(std::floor(total));
    }
    table->series.push_back(std::move(series));
  }
}

TEST(PeerDetectorTest, OneReadingOfManyErrorsSufficesWhereTheJobIsDegraded) {
  const auto errors = [](int host, int second) { return host == 3 && second >= kOnset ? 40.0 : 0; };
  MetricTable slower = Job(32, 16, Slower(Unchanged));
  AddErrors(&slower, errors);
  const std::vector<MachineAlarm> alarms = DetectMachines(slower, {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{3});
  EXPECT_LE(alarms[0].alarm_ms, 1'000'000 + 1000 * (kOnset + 20)) << "read 5 and 20 s after the onset";
  // Where the job fares well, a second reading has to agree.
  MetricTable well = Job(32, 16);
  AddErrors(&well, errors);
  const std::vector<MachineAlarm> later = DetectMachines(well, {});
  ASSERT_EQ(Accused(later), std::vector<int32_t>{3});
  EXPECT_GE(later[0].alarm_ms, 1'000'000 + 1000 * (kOnset + 20));
  MetricTable once = Job(32, 16);
  AddErrors(&once, [](int host, int second) { return host == 3 && second == kOnset ? 600.0 : 0; });
  EXPECT_EQ(Accused(DetectMachines(once, {})), std::vector<int32_t>());
}

// Errors and waits are everybody's when a job gets into trouble; a GPU that works less is one machine's all the same.
TEST(PeerDetectorTest, ErrorsOfManyMachinesHideNoBrokenDevice) {
  MetricTable table = Job(32, 16, Scale(5, 1, Metric::kGpuPowerWatts, 0.5));
  AddErrors(&table, [](int host, int second) { return host < 12 && second >= kOnset - 15 ? 40.0 : 0; });
  EXPECT_EQ(Accused(DetectMachines(table, {})), std::vector<int32_t>{5});
}

// Temperatures of GPUs, read every 15 s.
void AddTemperatures(MetricTable* table, const Twist& twist) {
  const MetricInfo* const info = FindMetric(Metric::kGpuTemperatureCelsius);
  Random random(21);
  for (int host = 0; host < static_cast<int>(table->hosts.size()); ++host) {
    MetricSeries series{.host = host, .device = "gpu0", .name = std::string(info->name), .metric = info->metric};
    for (int second = 5; second < kSeconds; second += 15) {
      series.time_ms.push_back(1'000'000 + 1000 * second);
      series.value.push_back(twist(host, second, info->metric, 60 + random.Gaussian()));
    }
    table->series.push_back(std::move(series));
  }
}

TEST(PeerDetectorTest, ManyCoolGpusHideNoBrokenOne) {
  MetricTable table = Job(32, 16, Scale(5, 1, Metric::kGpuPowerWatts, 0.5));
  AddTemperatures(&table, [](int host, int second, Metric, double value) {
    return host < 12 && second >= kOnset - 15 ? value - 40 : value;
  });
  EXPECT_EQ(Accused(DetectMachines(table, {})), std::vector<int32_t>{5});
}

TEST(PeerDetectorTest, ErrorsThatComeOnManyReadingsAreNoSurprisalWhereTheJobIsDegraded) {
  Random random(3);
  MetricTable table = Job(32, 16, Slower(Unchanged));
  AddErrors(&table, [&random](int, int) { return random.Unit() < 0.002 ? 600.0 : 0; });
  EXPECT_EQ(Accused(DetectMachines(table, {})), std::vector<int32_t>());
}

// Hosts that are loaded for a quarter of a minute now and then; the job becomes slower at some moment.
TEST(PeerDetectorTest, AmongHostsThatAreOftenLoadedALoadExplainsNothing) {
  const auto loaded = [](int host, int second, Metric metric, double value) {
    const bool now = (second + 37 * host) % 240 < 18 && second >= 100;
    return metric == Metric::kHostCpuBusyRatio && now ? 4 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(60, 17, Slower(loaded)), {})), std::vector<int32_t>());
}

TEST(PeerDetectorTest, ALoadThatEndedWhileTheJobIsStillDegradedExplainsNothing) {
  const auto passing = [](int host, int second, Metric metric, double value) {
    const bool now = second >= kOnset - 14 && second < kOnset + 2;
    return host == 3 && metric == Metric::kHostCpuBusyRatio && now ? 4 * value : value;
  };
  EXPECT_EQ(Accused(DetectMachines(Job(16, 18, Slower(passing)), {})), std::vector<int32_t>());
}

TEST(PeerDetectorTest, AtAHangTheOneWhoseWorkStoppedFirstIsNamed) {
  const auto first = [](int host) { return host == 5 ? kOnset : kSeconds; };
  const std::vector<MachineAlarm> alarms = DetectMachines(BusyJob(32, 19, Hangs(first)), {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{5});
  EXPECT_LE(alarms[0].alarm_ms, 1'000'000 + 1000 * (kOnset + 12));
  // Its neighbours wait for it a moment earlier than all.
  const auto neighbour_too = [](int host) { return host == 5 ? kOnset : host == 6 ? kOnset + 1 : kSeconds; };
  EXPECT_EQ(Accused(DetectMachines(BusyJob(32, 19, Hangs(neighbour_too)), {})), std::vector<int32_t>{5});
}

TEST(PeerDetectorTest, AtAHangNobodyIsNamedWhoStoppedWithAllOrStopsNowAndThen) {
  const auto nobody = [](int) { return kSeconds; };
  EXPECT_EQ(Accused(DetectMachines(BusyJob(32, 19, Hangs(nobody)), {})), std::vector<int32_t>());
  const auto with_all = [](int host) { return host == 5 ? kOnset + 2 : kSeconds; };
  EXPECT_EQ(Accused(DetectMachines(BusyJob(32, 19, Hangs(with_all)), {})), std::vector<int32_t>());
  // NICs that do nothing for a second every so often.
  const auto now_and_then = [](int host, int second, Metric metric, double value) {
    if (metric == Metric::kIbTransmitBytesTotal && second > 20 && (second + host * 29) % 97 < 2) return 0.0;
    return Hangs([](int other) { return other == 5 ? kOnset : kSeconds; })(host, second, metric, value);
  };
  EXPECT_EQ(Accused(DetectMachines(BusyJob(32, 19, now_and_then), {})), std::vector<int32_t>());
}

// Noise that remembers itself makes a small load uncertain for a long time, and does not end it.
TEST(PeerDetectorTest, ASmallLoadInNoiseThatRemembersAccusesWhereTheJobIsDegraded) {
  const MetricInfo* const info = FindMetric(Metric::kHostCpuIowaitRatio);
  Random random(22);
  MetricTable table = Job(32, 16, Slower(Unchanged));
  for (int host = 0; host < 32; ++host) {
    MetricSeries series{.host = host, .device = "", .name = std::string(info->name), .metric = info->metric};
    double state = 0;
    for (int second = 0; second < kSeconds; ++second) {
      state = 0.8 * state + 0.6 * random.Gaussian();
      const double load = host == 3 && second >= kOnset ? 1.3 : 1;
      series.time_ms.push_back(1'000'000 + 1000 * second);
      series.value.push_back(0.04 * load * (1 + 0.1 * state));
    }
    table.series.push_back(std::move(series));
  }
  const std::vector<MachineAlarm> alarms = DetectMachines(table, {});
  ASSERT_EQ(Accused(alarms), std::vector<int32_t>{3});
  EXPECT_LE(alarms[0].alarm_ms, 1'000'000 + 1000 * (kOnset + 120));
}

TEST(PeerDetectorTest, BrokenOnPurposeItAccusesTheWrongMachine) {
  const MetricTable table = Job(16, 9, Scale(1, 1, Metric::kGpuPowerWatts, 0.5));
  EXPECT_EQ(Accused(DetectMachines(table, {.sabotage_accuse_neighbour = true})), std::vector<int32_t>{2});
}

TEST(PeerDetectorTest, SameInputSameOutput) {
  const MetricTable table = Job(16, 10, Scale(1, 2, Metric::kGpuPowerWatts, 0.8));
  const std::vector<MachineAlarm> a = DetectMachines(table, {});
  const std::vector<MachineAlarm> b = DetectMachines(table, {});
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].alarm_ms, b[i].alarm_ms);
}

struct BadInput {
  const char* name;
  std::function<void(MetricTable*)> spoil;
  std::function<uint64_t(const SampleLosses&)> counted;
};

void SpoilSome(MetricTable* table, double value) {
  Random random(11);
  for (MetricSeries& series : table->series) {
    for (double& sample : series.value) sample = random.Below(5) == 0 ? value : sample;
  }
}

void ShiftHost(MetricTable* table, int32_t host, int64_t by_ms) {
  for (MetricSeries& series : table->series) {
    if (series.host != host) continue;
    for (int64_t& time_ms : series.time_ms) time_ms += by_ms;
  }
}

TEST(PeerDetectorTest, BadInputAccusesNobodyAndIsCounted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const BadInput inputs[] = {
      {"nan", [](MetricTable* t) { SpoilSome(t, kNan); }, [](const SampleLosses& l) { return l.not_finite; }},
      {"infinity", [](MetricTable* t) { SpoilSome(t, kInfinity); }, [](const SampleLosses& l) { return l.not_finite; }},
      {"blank", [](MetricTable* t) { SpoilSome(t, 9223372036854775794.0); },
       [](const SampleLosses& l) { return l.blank; }},
      {"reset",
       [](MetricTable* t) {
         for (size_t i = 300; i < kSeconds; ++i) t->series[1].value[i] -= t->series[1].value[299];
       },
       [](const SampleLosses& l) { return l.resets; }},
      {"wrap",
       [](MetricTable* t) {
         for (double& value : t->series[1].value) value = std::fmod(value, 4294967296.0 * 16);
       },
       [](const SampleLosses& l) { return l.resets; }},
      {"a day off", [](MetricTable* t) { ShiftHost(t, 2, 86'400'000); },
       [](const SampleLosses& l) { return l.misclocked_hosts.size(); }},
      {"duplicates",
       [](MetricTable* t) {
         for (size_t i = 1; i < kSeconds; i += 2) t->series[3].time_ms[i] = t->series[3].time_ms[i - 1];
       },
       [](const SampleLosses& l) { return l.duplicate; }},
  };
  for (const int hosts : {4, 16}) {
    for (const BadInput& input : inputs) {
      MetricTable table = Job(hosts, 12);
      input.spoil(&table);
      EXPECT_TRUE(DetectMachines(table, {}).empty()) << input.name << " " << hosts;
      EXPECT_GT(input.counted(JudgeHistory(table, {}).losses), 0u) << input.name;
    }
  }
}

TEST(PeerDetectorTest, NoneOneOrConstantMachinesAccuseNobody) {
  EXPECT_TRUE(DetectMachines({}, {}).empty());
  EXPECT_TRUE(DetectMachines(Job(1, 13, Scale(0, 1, Metric::kGpuPowerWatts, 0.2)), {}).empty());
  const auto constant = [](int, int, Metric, double) { return 5.0; };
  EXPECT_TRUE(DetectMachines(Job(16, 14, constant), {}).empty());
  const auto zero = [](int, int, Metric, double) { return 0.0; };
  EXPECT_TRUE(DetectMachines(Job(16, 15, zero), {}).empty());
}

TEST(PeerDetectorTest, UnitsAndMetricsAreBounded) {
  PeerDetector detector({.max_units = 2, .max_metrics = 1});
  const int32_t watch = detector.Watch("gpu_power_watts", Metric::kGpuPowerWatts, 1);
  ASSERT_EQ(watch, 0);
  EXPECT_EQ(detector.Watch("gpu_power_watts", Metric::kGpuPowerWatts, 1), 0);
  EXPECT_EQ(detector.Watch("other", Metric::kUnspecified, 1), -1);
  EXPECT_EQ(detector.AddUnit(watch, 0, "gpu0"), 0);
  EXPECT_EQ(detector.AddUnit(watch, 1, "gpu0"), 1);
  EXPECT_EQ(detector.AddUnit(watch, 2, "gpu0"), -1);
  EXPECT_EQ(detector.refused_units(), 1u);
}

}  // namespace
}  // namespace lockstep
