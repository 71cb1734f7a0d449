// Answers that know the truth score perfectly, and silence scores nothing: neither would be worth a test if the other
// could not fail.

#include "eval/counters/counter_run.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/testing/sim_clock.h"
#include "eval/counters/counter_summary.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kEpisodes = 4;

// A small suite: the histories of the real ones take seconds.
CounterPlan SmallPlan(uint64_t number, Random& random) {
  CounterPlan plan;
  plan.spec.hosts = 5;
  plan.spec.devices_per_host = 1;
  plan.spec.activity = {{.end_ms = 60'000}};
  CounterFault fault{.kind = FaultKind::kHostSlow, .begin_ms = 20'000, .end_ms = 50'000};
  fault.host = static_cast<int32_t>(number % 5);
  fault.severity = 1 + random.Unit();
  plan.faults = {fault};
  plan.row = "host_slow";
  return plan;
}

CounterSuite SmallSuite() {
  CounterSuite suite = *FindCounterSuite("gross");
  suite.plan = SmallPlan;
  suite.baseline_every = 2;
  return suite;
}

// Knows when the faults of this suite are there and which counter has to show them.
std::vector<CounterMethod> TruthAndSilence() {
  const auto truth = [](const MetricTable& table) {
    std::vector<MachineAlarm> alarms;
    std::map<int32_t, double> busy;
    for (const MetricSeries& series : table.series) {
      if (series.metric != Metric::kHostCpuBusyRatio) continue;
      for (size_t i = 0; i < series.value.size(); ++i) {
        if (series.time_ms[i] > 25'000 && series.time_ms[i] < 50'000 && series.value[i] > 0.3) {
          busy[series.host] += 1;
        }
      }
    }
    for (const auto& [host, count] : busy) {
      if (count > 15) alarms.push_back({.host = host, .metric_name = "host_cpu_busy_ratio", .alarm_ms = 49'000});
    }
    return alarms;
  };
  const auto silence = [](const MetricTable&) { return std::vector<MachineAlarm>(); };
  return {{"truth", "test", truth}, {"silence", "test", silence}};
}

TEST(CounterRunTest, BaselinesAreAskedOnSomeEpisodesOnly) {
  const SimClock clock;
  const std::vector<CounterMethod> methods = TruthAndSilence();
  const std::vector<CounterOutcome> outcomes = RunCounterSuite(SmallSuite(), 0, kEpisodes, 2, methods, clock, {});
  ASSERT_EQ(outcomes.size(), 4u);
  for (uint64_t number = 0; number < 4; ++number) {
    EXPECT_EQ(outcomes[number].number, number);
    EXPECT_TRUE(outcomes[number].methods[0].asked);
    EXPECT_EQ(outcomes[number].methods[1].asked, number % 2 == 0);
    EXPECT_GT(outcomes[number].samples, 1000);
    EXPECT_NEAR(outcomes[number].machine_days, 5 * 60.0 / 86'400, 1e-12);
  }
}

TEST(CounterRunTest, TheTruthScoresAllAndSilenceNothing) {
  const SimClock clock;
  const std::vector<CounterMethod> methods = TruthAndSilence();
  const std::vector<CounterOutcome> outcomes = RunCounterSuite(SmallSuite(), 0, kEpisodes, 1, methods, clock, {});
  const CounterSummary summary = SummarizeCounters(SmallSuite(), methods, outcomes);
  EXPECT_DOUBLE_EQ(summary.methods[0].all.f1(), 1);
  EXPECT_DOUBLE_EQ(summary.methods[0].all.delay_seconds.median, 29);
  EXPECT_EQ(summary.methods[1].all.recall.trials, 2);
  EXPECT_DOUBLE_EQ(summary.methods[1].all.f1(), 0);
  EXPECT_EQ(outcomes[0].methods[1].answer, "silence");
  EXPECT_EQ(outcomes[2].methods[0].answer, "node-00002 host_cpu_busy_ratio at 49.0 s (score 0)");
}

}  // namespace
}  // namespace lockstep
