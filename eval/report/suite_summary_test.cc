#include "eval/report/suite_summary.h"

#include <vector>

#include "eval/report/evaluation_json.h"
#include "eval/report/measures.h"
#include "eval/report/suite_json.h"
#include "eval/scoring/episode_score.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/suite.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

EpisodeOutcome Outcome(FaultKind kind, bool right, double cost = 0.2) {
  EpisodeOutcome outcome;
  CauseScore cause;
  cause.kind = kind;
  cause.cost = cost;
  cause.culprits = InfoOf(kind).negative ? 0 : 1;
  cause.accusable = cause.culprits > 0 && cost >= 0.03;
  cause.top1 = cause.top1_host = cause.top3 = cause.named = cause.exact_set = cause.class_right = right;
  cause.culprits_named = right ? cause.culprits : 0;
  cause.predicted = right ? "right" : "none";
  outcome.score.causes = {cause};
  outcome.diagnose_ns = 500'000'000;
  outcome.steps_to_verdict = right ? 3 : 0;
  return outcome;
}

TEST(SuiteSummaryTest, RatesCountAccusableCausesOnly) {
  const Suite& suite = *FindSuite("localize-2048");
  const SuiteSummary summary =
      Summarize(suite, {Outcome(FaultKind::kComputeSlow, true), Outcome(FaultKind::kComputeSlow, false),
                        Outcome(FaultKind::kComputeSlow, true, /*cost=*/0.01)});
  EXPECT_EQ(summary.episodes, 3);
  EXPECT_EQ(summary.too_cheap, 1);
  EXPECT_EQ(summary.top1.successes, 1);
  EXPECT_EQ(summary.top1.trials, 2);
  const KindRow& row = summary.kinds.at("compute_slow");
  EXPECT_EQ(row.episodes, 3);
  EXPECT_EQ(row.too_cheap, 1);
  EXPECT_EQ(row.predicted.at("none"), 1);
  ASSERT_EQ(summary.failures.listed.size(), 1u);
  EXPECT_EQ(summary.failures.listed[0].why, "does not name compute_slow");
}

TEST(SuiteSummaryTest, EveryRowOfTheTableWeighsTheSame) {
  std::vector<EpisodeOutcome> outcomes(9, Outcome(FaultKind::kComputeSlow, true));
  outcomes.push_back(Outcome(FaultKind::kStageImbalance, false));
  const SuiteSummary summary = Summarize(*FindSuite("classes"), outcomes);
  EXPECT_DOUBLE_EQ(summary.macro_class.value, 0.5);
  EXPECT_NEAR(summary.class_right.share(), 0.9, 1e-12);
}

TEST(SuiteSummaryTest, AnAccusedInnocentIsAFailureEvenInAnOtherwiseRightEpisode) {
  EpisodeOutcome outcome = Outcome(FaultKind::kComputeSlow, true);
  outcome.score.accused_wrongly = {"node-7"};
  const SuiteSummary summary = Summarize(*FindSuite("localize-2048"), {outcome});
  EXPECT_EQ(summary.accuses_innocents.successes, 1);
  ASSERT_EQ(summary.failures.listed.size(), 1u);
  EXPECT_EQ(summary.failures.listed[0].why, "accuses node-7");
}

TEST(SuiteSummaryTest, FailuresAreListedUpToALimitAndThenCounted) {
  const std::vector<EpisodeOutcome> outcomes(FailureList::kMaxListed + 5, Outcome(FaultKind::kComputeSlow, false));
  const SuiteSummary summary = Summarize(*FindSuite("localize-2048"), outcomes);
  EXPECT_EQ(summary.failures.listed.size(), FailureList::kMaxListed);
  EXPECT_EQ(summary.failures.not_listed, 5);
}

TEST(MeasuresTest, ATargetIsMissedOrMet) {
  const Suite& suite = *FindSuite("localize-2048");
  const std::vector<EpisodeOutcome> all_right(100, Outcome(FaultKind::kComputeSlow, true));
  std::vector<EpisodeOutcome> some_wrong = all_right;
  for (size_t i = 0; i < 3; ++i) some_wrong[i] = Outcome(FaultKind::kComputeSlow, false);
  const std::vector<Measure> met = MeasuresOf({Summarize(suite, all_right)});
  const std::vector<Measure> missed = MeasuresOf({Summarize(suite, some_wrong)});
  ASSERT_EQ(met.size(), 1u);
  EXPECT_TRUE(met[0].met);
  EXPECT_EQ(met[0].measured, "100.0 % (96.3-100.0 %), 100 of 100");
  ASSERT_EQ(missed.size(), 1u);
  EXPECT_FALSE(missed[0].met);
  EXPECT_EQ(missed[0].measured, "97.0 % (91.5-99.0 %), 97 of 100");
}

TEST(MeasuresTest, NeverNamedCountsAsLaterThanEverybody) {
  std::vector<EpisodeOutcome> outcomes(9, Outcome(FaultKind::kComputeSlow, true));
  outcomes.push_back(Outcome(FaultKind::kComputeSlow, false));
  const std::vector<Measure> measures = MeasuresOf({Summarize(*FindSuite("slow-compute"), outcomes)});
  ASSERT_EQ(measures.size(), 1u);
  EXPECT_EQ(measures[0].value, static_cast<double>(kMostStepsToVerdict + 1));
  EXPECT_FALSE(measures[0].met);
}

TEST(MeasuresTest, OneAccusedInnocentIsTooMany) {
  std::vector<EpisodeOutcome> outcomes(100);
  EXPECT_TRUE(MeasuresOf({Summarize(*FindSuite("innocent"), outcomes)})[0].met);
  outcomes[3].score.accused_wrongly = {"node-7"};
  EXPECT_FALSE(MeasuresOf({Summarize(*FindSuite("innocent"), outcomes)})[0].met);
}

TEST(EvaluationJsonTest, HasEveryRateWithItsInterval) {
  const std::vector<SuiteSummary> summaries = {
      Summarize(*FindSuite("localize-2048"), {Outcome(FaultKind::kComputeSlow, true)})};
  const nlohmann::ordered_json json = EvaluationJson("tune", MeasuresOf(summaries), {SuiteJson(summaries[0])});
  EXPECT_EQ(json["seeds"], "tune");
  EXPECT_EQ(json["suites"][0]["top1"]["trials"], 1);
  EXPECT_GT(json["suites"][0]["top1"]["low"], 0.2);
  EXPECT_EQ(json["measures"][0]["met"], true);
}

}  // namespace
}  // namespace lockstep
