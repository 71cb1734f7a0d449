#include "eval/suites/suite_run.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/sim_clock.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/baselines/baseline.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/fault_choice.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

// What an engine that knows everything would say.
JobReport Confession(const Truth& truth) {
  JobReport report;
  report.state = truth.state;
  for (const TrueCause& cause : truth.causes) {
    if (cause.scope == VerdictScope::kUnknown) continue;
    Verdict verdict = Verdict::Accusation(cause.scope, cause.verdict_class);
    verdict.culprits = cause.culprits;
    verdict.cost = cause.cost;
    report.verdicts.push_back(verdict);
  }
  return report;
}

// Blames whoever spends the least time inside collectives.
JobReport BlameTheLeastInside(const JobEvidence& evidence) {
  const JoinedTrace joined(evidence.trace);
  const Ranking ranking = RankByLeastCommunication(joined);
  const TraceRank& rank = evidence.trace.ranks[static_cast<size_t>(ranking.front().rank_index)];
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits.emplace_back();
  verdict.culprits.back().host = evidence.trace.hosts[static_cast<size_t>(rank.host)];
  verdict.culprits.back().rank = rank.rank;
  JobReport report;
  report.state = JobState::kSlow;
  report.verdicts = {verdict};
  return report;
}

std::string Bytes(const std::vector<EpisodeOutcome>& outcomes) {
  std::string bytes;
  for (const EpisodeOutcome& outcome : outcomes) {
    bytes += std::to_string(outcome.number) + " " + outcome.description + " " + outcome.answer + " " +
             std::to_string(outcome.records) + " " + std::to_string(outcome.steps_to_verdict) + " " +
             std::to_string(outcome.score.causes.size()) + "\n";
  }
  return bytes;
}

TEST(SuiteTest, EveryPlanIsValidAndSeedsAreApart) {
  for (const Suite& suite : AllSuites()) {
    for (uint64_t i = 0; i < 60; ++i) {
      for (const uint64_t number : {i, kFirstReportNumber + i}) {
        const EpisodePlan plan = PlanOf(suite, number);
        ASSERT_TRUE(Validate(plan.job).ok()) << suite.name << " " << number << ": " << Validate(plan.job);
        for (const FaultSpec& fault : plan.faults) {
          ASSERT_TRUE(Validate(fault, plan.job).ok()) << suite.name << " " << number << Validate(fault, plan.job);
        }
      }
      EXPECT_NE(PlanOf(suite, i).seed, PlanOf(suite, kFirstReportNumber + i).seed);
      EXPECT_NE(PlanOf(suite, i).seed, PlanOf(suite, i + 1).seed);
    }
    EXPECT_LT(static_cast<uint64_t>(suite.episodes), kFirstReportNumber) << "tuning numbers must not reach reporting";
    EXPECT_EQ(FindSuite(suite.name), &suite);
  }
  EXPECT_EQ(FindSuite("no such suite"), nullptr);
}

TEST(SuiteRunTest, SuitesOfPullsCountWhatWasPulledAndAskNobodyElse) {
  const SimClock clock;
  const EpisodeOutcome outcome = RunPlan(
      PlanOf(*FindSuite("slow-compute"), 1), *FindSuite("pulls-8192"),
      [](const JobEvidence&) {
        ADD_FAILURE() << "the engine that sees everything was asked";
        return JobReport();
      },
      {.baselines = false}, clock);
  EXPECT_GT(outcome.pulled_bytes, 0u);
  EXPECT_GT(outcome.records, 0u);
}

TEST(SuiteRunTest, ThePerfectAnswerScoresPerfectlyInEverySmallSuite) {
  constexpr uint64_t kNumber = 1;
  const SimClock clock;
  for (const Suite& suite : AllSuites()) {
    if (suite.one_at_a_time) continue;
    const JobReport confession = Confession(SimulatePlan(PlanOf(suite, kNumber)).truth);
    const EpisodeOutcome outcome = RunEpisode(
        suite, kNumber, [&](const JobEvidence&) { return confession; }, {}, clock);
    EXPECT_TRUE(outcome.score.state_right) << outcome.description;
    EXPECT_TRUE(outcome.score.accused_wrongly.empty()) << outcome.description;
    for (const CauseScore& cause : outcome.score.causes) {
      EXPECT_TRUE(cause.class_right) << outcome.description;
      if (!cause.accusable) continue;
      EXPECT_TRUE(cause.named && cause.exact_set) << outcome.description;
      EXPECT_TRUE(cause.top1 || outcome.score.causes.size() > 1) << outcome.description;
      if (suite.procedure == Procedure::kPrefixes) {
        EXPECT_EQ(outcome.steps_to_verdict, 1);
      }
      if (suite.procedure == Procedure::kHangCuts) {
        EXPECT_EQ(outcome.hang_seconds, 1);
      }
    }
  }
}

TEST(SuiteRunTest, TheOutcomesDoNotDependOnTheNumberOfThreads) {
  const SimClock clock;
  const Suite& suite = *FindSuite("slow-compute");
  int32_t told = 0;
  const auto run = [&](int32_t threads) {
    return Bytes(RunSuite(suite, 12, 3, threads, BlameTheLeastInside, {}, clock, [&](int32_t) { ++told; }));
  };
  const std::string alone = run(1);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(run(3), alone);
  EXPECT_NE(alone.find("14 "), std::string::npos);
}

TEST(SuiteRunTest, SilenceNeverNamesAnybodyAndNeverAccuses) {
  const SimClock clock;
  const auto silent = [](const JobEvidence&) { return JobReport(); };
  for (const char* name : {"slow-compute", "hangs"}) {
    const EpisodeOutcome outcome = RunEpisode(*FindSuite(name), 3, silent, {}, clock);
    EXPECT_FALSE(outcome.score.causes[0].named);
    EXPECT_EQ(outcome.steps_to_verdict, 0);
    EXPECT_LT(outcome.hang_seconds, 0);
    EXPECT_EQ(outcome.score.hosts_accused, 0);
  }
}

}  // namespace
}  // namespace lockstep
