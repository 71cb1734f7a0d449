#include "eval/counters/counter_summary.h"

#include <string>
#include <vector>

#include "eval/counters/counter_measures.h"
#include "eval/counters/counter_suite_json.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

std::vector<MachineAlarm> Nothing(const MetricTable&) { return {}; }

const std::vector<CounterMethod> kMethods = {{"first", "test", Nothing}, {"second", "test", Nothing}};

CounterOutcome Outcome(bool found, double delay_seconds, int64_t wrong, int32_t hosts = 64) {
  CounterOutcome outcome{.description = "simulated", .row = "gpu_lost", .hosts = hosts, .machine_days = 2};
  MethodOutcome method{.asked = true, .answer = "answered"};
  method.score.faults = {{.found = found, .delay_seconds = delay_seconds}};
  method.score.false_accusations = wrong;
  outcome.methods = {method, MethodOutcome()};
  return outcome;
}

CounterSummary Summary(const std::vector<CounterOutcome>& outcomes, const char* suite = "minder-mix") {
  return SummarizeCounters(*FindCounterSuite(suite), kMethods, outcomes);
}

TEST(CounterSummaryTest, PrecisionRecallAndF1AreOfMachinesOverAllEpisodes) {
  // Three faults found, one missed, two innocents accused.
  const CounterSummary summary =
      Summary({Outcome(true, 5, 0), Outcome(true, 6, 2), Outcome(true, 7, 0), Outcome(false, 400, 0)});
  const CounterMethodSummary& method = summary.methods[0];
  EXPECT_DOUBLE_EQ(method.all.recall.share(), 0.75);
  EXPECT_DOUBLE_EQ(method.all.precision.share(), 0.6);
  EXPECT_DOUBLE_EQ(method.all.f1(), 2 * 0.75 * 0.6 / (0.75 + 0.6));
  EXPECT_LT(method.f1.low, method.all.f1());
  EXPECT_GT(method.f1.high, method.all.f1());
  EXPECT_EQ(summary.failures.listed.size(), 2u);
  EXPECT_EQ(summary.failures.listed[0].why, "accused 2 wrongly");
  EXPECT_EQ(summary.failures.listed[1].why, "missed 1 of 1");
}

TEST(CounterSummaryTest, AMethodThatWasNotAskedHasNoFigures) {
  const CounterSummary summary = Summary({Outcome(true, 5, 0)});
  EXPECT_EQ(summary.methods[1].all.episodes, 0);
  EXPECT_EQ(CounterSuiteJson(summary)["methods"].size(), 1u);
}

TEST(CounterSummaryTest, SizesAreRowsByTheLargestSizeBelow) {
  EXPECT_EQ(SizeRowOf(3), 1);
  EXPECT_EQ(SizeRowOf(4), 4);
  EXPECT_EQ(SizeRowOf(255), 64);
  EXPECT_EQ(SizeRowOf(9999), 1024);
  const CounterSummary summary = Summary({Outcome(true, 5, 0, 4), Outcome(false, 5, 0, 300)});
  EXPECT_EQ(summary.methods[0].sizes.at(4).recall.successes, 1);
  EXPECT_EQ(summary.methods[0].sizes.at(256).recall.successes, 0);
}

TEST(CounterSummaryTest, NobodyAccusedIsBoundedByTheRuleOfThree) {
  const AccusationRate none{.accusations = 0, .machine_days = 30'000};
  EXPECT_DOUBLE_EQ(none.per_10000_days(), 0);
  EXPECT_NEAR(none.upper_per_10000_days(), 1, 0.02);
  // One-sided exact bounds of a Poisson count of 1 and of 10: 4.744 and 16.96.
  const AccusationRate one{.accusations = 1, .machine_days = 10'000};
  EXPECT_NEAR(one.upper_per_10000_days(), 4.744, 0.05);
  const AccusationRate ten{.accusations = 10, .machine_days = 10'000};
  EXPECT_NEAR(ten.upper_per_10000_days(), 16.96, 0.05);
}

TEST(CounterMeasuresTest, MissingOneFaultInTenMissesTheTargets) {
  std::vector<CounterOutcome> outcomes(19, Outcome(true, 5, 0));
  for (const Measure& measure : CounterMeasuresOf({Summary(outcomes), Summary(outcomes, "gross")})) {
    EXPECT_TRUE(measure.met) << measure.name;
  }
  outcomes.push_back(Outcome(false, 400, 1));
  outcomes.push_back(Outcome(false, 400, 1));
  const std::vector<Measure> missed = CounterMeasuresOf({Summary(outcomes), Summary(outcomes, "gross")});
  ASSERT_EQ(missed.size(), 4u);
  for (const Measure& measure : missed) EXPECT_FALSE(measure.met) << measure.name;
  EXPECT_EQ(missed[3].measured, "median 5.0 s, p95 400.0 s, n = 21, 2 not found");
}

TEST(CounterMeasuresTest, OneFalseAccusationInFewDaysIsTooMany) {
  const std::vector<Measure> measures = CounterMeasuresOf({Summary({Outcome(true, 5, 1)}, "healthy")});
  ASSERT_EQ(measures.size(), 1u);
  EXPECT_DOUBLE_EQ(measures[0].value, 5000);
  EXPECT_FALSE(measures[0].met);
}

TEST(CounterSuiteJsonTest, HasEveryFigureWithItsInterval) {
  const CounterSummary summary = Summary({Outcome(true, 5, 0)});
  const nlohmann::ordered_json json = CounterSuiteJson(summary);
  const auto& method = json["methods"][0];
  EXPECT_EQ(method["recall"]["trials"], 1);
  EXPECT_EQ(method["rows"]["gpu_lost"]["onset_to_alarm_s"]["p95"], 5);
  EXPECT_EQ(method["sizes"]["64"]["episodes"], 1);
  EXPECT_GT(method["false_accusations"]["upper_per_10000_machine_days"], 10'000);
  EXPECT_EQ(CounterMeasuresOf({summary}).size(), 3u);
}

}  // namespace
}  // namespace lockstep
