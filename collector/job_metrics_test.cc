#include "collector/job_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lockstep {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class JobMetricsTest : public testing::Test {
 protected:
  // Values of the series of a family, by the value of one label.
  std::map<std::string, double> ValuesOf(const std::string& family, const std::string& by) const {
    std::map<std::string, double> values;
    for (const prometheus::MetricFamily& collected : registry_.Collect()) {
      if (collected.name != family) continue;
      for (const prometheus::ClientMetric& metric : collected.metric) {
        for (const prometheus::ClientMetric::Label& label : metric.label) {
          if (label.name == by) values[label.value] += metric.gauge.value;
        }
      }
    }
    return values;
  }

  std::map<std::string, double> PartsOfLedgers() const { return ValuesOf("lockstep_job_ledger_seconds", "part"); }

  prometheus::Registry registry_;
  JobMetrics metrics_{registry_};
  const LedgerGauges ledger_ = {.measured_seconds = 1.5,
                                .reference_seconds = 1,
                                .explained_seconds = 0.375,
                                .unexplained_seconds = 0.125,
                                .error_seconds = 0.01};
};

TEST_F(JobMetricsTest, ShowsWhereTheTimeOfAStepGoes) {
  metrics_.Set("train", {.state = "slow", .ledger = ledger_});
  EXPECT_THAT(PartsOfLedgers(),
              UnorderedElementsAre(Pair("measured", 1.5), Pair("reference", 1), Pair("explained", 0.375),
                                   Pair("unexplained", 0.125), Pair("error", 0.01)));
  EXPECT_THAT(ValuesOf("lockstep_job_ledger_seconds", "training_job"), UnorderedElementsAre(Pair("train", testing::_)));
}

TEST_F(JobMetricsTest, ALedgerThatNobodyKnowsAnyMoreHasNoSeries) {
  metrics_.Set("train", {.state = "slow", .ledger = ledger_});
  metrics_.Set("train", {.state = "unknown"});
  EXPECT_THAT(PartsOfLedgers(), IsEmpty());
  EXPECT_THAT(ValuesOf("lockstep_job_ranks", "training_job"), UnorderedElementsAre(Pair("train", 0)));
  metrics_.Set("train", {.state = "slow", .ledger = ledger_});
  EXPECT_EQ(PartsOfLedgers()["measured"], 1.5);
}

TEST_F(JobMetricsTest, AllSeriesOfAJobGoWithIt) {
  metrics_.Set("first", {.state = "slow", .steps_per_second = 2, .ranks = 8, .ledger = ledger_});
  metrics_.Set("second", {.state = "healthy", .steps_per_second = 3, .ranks = 4, .ledger = ledger_});
  EXPECT_EQ(ValuesOf("lockstep_jobs", "state")["slow"], 1);
  metrics_.Remove("first");
  for (const char* family : {"lockstep_job_state", "lockstep_job_steps_per_second", "lockstep_job_step_seconds_median",
                             "lockstep_job_ranks", "lockstep_job_ledger_seconds"}) {
    EXPECT_THAT(ValuesOf(family, "training_job"), UnorderedElementsAre(Pair("second", testing::_))) << family;
  }
  EXPECT_EQ(ValuesOf("lockstep_jobs", "state")["slow"], 0);
  EXPECT_EQ(ValuesOf("lockstep_jobs", "state")["healthy"], 1);
}

}  // namespace
}  // namespace lockstep
