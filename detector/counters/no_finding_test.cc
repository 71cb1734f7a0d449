// Counters that stand out and yet accuse nobody: names that mean nothing to us, and crowds.

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/counter_diagnosis.h"
#include "detector/model/metric_table.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kStartMs = 1'000'000;
constexpr double kOddFactor = 0.6;
constexpr double kDegraded = 0.85;  // of the job's work, from the onset on

std::vector<std::string> HostNames(int32_t hosts) {
  std::vector<std::string> names;
  for (int32_t host = 0; host < hosts; ++host) names.push_back("node-" + std::to_string(host));
  return names;
}

// One that is sampled every `interval_ms`; `level` says what a sample is, but for noise of 1 %.
template <typename Level>
MetricSeries Sampled(MetricSeries series, int samples, int64_t interval_ms, Random& random, Level level) {
  double total = 0;
  const bool counts = series.metric != Metric::kUnspecified && FindMetric(series.metric)->kind == MetricKind::kCounter;
  for (int i = 0; i < samples; ++i) {
    const double value = level(i) * (1 + 0.01 * random.Gaussian());
    total += value;
    series.time_ms.push_back(kStartMs + interval_ms * i);
    series.value.push_back(counts ? total : value);
  }
  return series;
}

MetricSeries Known(int32_t host, Metric metric, std::string device) {
  return {.host = host, .device = std::move(device), .name = std::string(FindMetric(metric)->name), .metric = metric};
}

std::vector<std::string> Accusations(const JobReport& report) {
  std::vector<std::string> hosts;
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.type() != FindingType::kAccusation) continue;
    for (const Culprit& culprit : verdict.culprits) hosts.push_back(culprit.host);
  }
  return hosts;
}

constexpr int32_t kMachines = 24, kDuties = 3, kOdd = 9;
constexpr int64_t kDayMs = 86'400'000, kOnsetMs = kDayMs / 3 * 2;  // since kStartMs

// Power and traffic every `interval_ms`, of a job that does less from the onset on. `odd_power` is the odd machine's
// from then on, against the others.
void AddWork(int64_t interval_ms, double odd_power, Random& random, MetricTable* table) {
  const auto samples = static_cast<int>(kDayMs / interval_ms);
  for (int32_t host = 0; host < kMachines; ++host) {
    const auto work = [&](double before, double odd) {
      return [=](int i) { return i * interval_ms < kOnsetMs ? before : kDegraded * before * (host == kOdd ? odd : 1); };
    };
    table->series.push_back(
        Sampled(Known(host, Metric::kGpuPowerWatts, "gpu0"), samples, interval_ms, random, work(600, odd_power)));
    table->series.push_back(Sampled(Known(host, Metric::kIbTransmitBytesTotal, "mlx5_0/1"), samples, interval_ms,
                                    random, work(1e9 * static_cast<double>(interval_ms), 1)));
  }
}

// Sixty series of unknown unit per machine, every five minutes, at a level that goes with the machine's duty. The odd
// machine differs in forty of them from the onset on.
void AddNames(Random& random, MetricTable* table) {
  constexpr int kNames = 60, kOddNames = 40;
  constexpr int64_t kIntervalMs = 300'000;
  for (int32_t host = 0; host < kMachines; ++host) {
    const int32_t duty = host / (kMachines / kDuties);
    for (int name = 0; name < kNames; ++name) {
      const double level = 10 * (name + 1) * (duty + 1);
      const bool odd = host == kOdd && name < kOddNames;
      MetricSeries series{.host = host, .name = "m" + std::to_string(name)};
      table->series.push_back(Sampled(std::move(series), kDayMs / kIntervalMs, kIntervalMs, random, [&](int i) {
        return odd && i * kIntervalMs >= kOnsetMs ? kOddFactor * level : level;
      }));
    }
  }
}

// A day of it. `told_duties`: operation records tell who does what.
JobReport JudgeDay(int64_t interval_ms, double odd_power, bool told_duties) {
  Random random(1);
  MetricTable table{.job = "j", .hosts = HostNames(kMachines)};
  AddWork(interval_ms, odd_power, random, &table);
  AddNames(random, &table);
  CounterContext context;
  for (int32_t host = 0; told_duties && host < kMachines; ++host) {
    context.duty_of_host.push_back(host / (kMachines / kDuties));
  }
  JobReport report;
  AddCounters(table, context, &report);
  return report;
}

TEST(NoFindingTest, NamesWithoutMeaningAccuseNobody) {
  constexpr int64_t kQuarterMinuteMs = 15'000, kFiveMinutesMs = 300'000;
  for (const bool told_duties : {false, true}) {
    const JobReport report = JudgeDay(kQuarterMinuteMs, 1, told_duties);
    EXPECT_EQ(report.state, JobState::kSlow) << told_duties;
    EXPECT_EQ(Accusations(report), std::vector<std::string>()) << told_duties;
    // Nobody can tell from so few samples whether the job is degraded.
    EXPECT_EQ(Accusations(JudgeDay(kFiveMinutesMs, 1, told_duties)), std::vector<std::string>()) << told_duties;
    // What is known of the same machine accuses it.
    EXPECT_EQ(Accusations(JudgeDay(kQuarterMinuteMs, kOddFactor, told_duties)), std::vector<std::string>{"node-9"})
        << told_duties;
  }
}

// Each of them is different in something of its own since the job does less: nobody is odd among odd ones.
TEST(NoFindingTest, WhereAllStandOutNobodyDoes) {
  struct Kind {
    Metric metric;
    const char* device;
    double level;
  };
  constexpr Kind kKinds[] = {
      {Metric::kGpuPowerWatts, "gpu0", 600},
      {Metric::kGpuSmClockHertz, "gpu0", 1.8e9},
      {Metric::kGpuTensorActiveRatio, "gpu0", 0.6},
      {Metric::kGpuTemperatureCelsius, "gpu0", 60},
      {Metric::kIbTransmitBytesTotal, "mlx5_0/1", 2e10},
      {Metric::kIbReceiveBytesTotal, "mlx5_0/1", 2e10},
      {Metric::kHostCpuBusyRatio, "", 0.4},
      {Metric::kGpuUtilizationRatio, "gpu0", 0.9},
  };
  constexpr int kSamples = 600, kOnset = 300;
  constexpr auto kHosts = static_cast<int32_t>(std::size(kKinds));
  Random random(1);
  MetricTable table{.job = "j", .hosts = HostNames(kHosts)};
  for (int32_t host = 0; host < kHosts; ++host) {
    for (int32_t k = 0; k < kHosts; ++k) {
      const Kind& kind = kKinds[k];
      const double odd = host == k ? kOddFactor : 1;
      const double job = kind.metric == Metric::kGpuPowerWatts ? kDegraded : 1;
      table.series.push_back(Sampled(Known(host, kind.metric, kind.device), kSamples, /*interval_ms=*/1'000, random,
                                     [&](int i) { return i < kOnset ? kind.level : odd * job * kind.level; }));
    }
  }
  JobReport report;
  AddCounters(table, {}, &report);
  EXPECT_EQ(Accusations(report), std::vector<std::string>());
  EXPECT_LE(report.verdicts.size(), 1u);
  for (const Verdict& verdict : report.verdicts) EXPECT_EQ(verdict.type(), FindingType::kAbstention);
}

}  // namespace
}  // namespace lockstep
