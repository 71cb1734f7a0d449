#include "eval/live/live_summary.h"

#include <vector>

#include "eval/live/live_measures.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Steps of one second; named after so long, or never.
LiveOutcome Slow(double named_seconds) {
  LiveOutcome outcome;
  outcome.hosts = 8;
  outcome.play.seconds = 90;
  outcome.play.pulled_bytes = 8 * 90 * 100;
  outcome.play.engine_cpu_ns = 72'000'000;  // of 720 machine-seconds
  LiveCauseScore cause;
  cause.at_end.kind = FaultKind::kComputeSlow;
  cause.at_end.accusable = true;
  cause.at_end.culprits = 1;
  cause.at_end.top1 = cause.at_end.named = cause.at_end.class_right = named_seconds >= 0;
  cause.step_seconds = 1;
  cause.left_seconds = cause.left_steps = 60;
  cause.named_seconds = cause.named_steps = named_seconds;
  outcome.score.causes = {cause};
  outcome.score.hosts_accused = named_seconds >= 0 ? 1 : 0;
  outcome.score.looks_with_records = 100;
  outcome.score.unknown_looks = 25;
  return outcome;
}

LiveSummary Summary(const char* suite, const std::vector<LiveOutcome>& outcomes) {
  return SummarizeLive(*FindLiveSuite(suite), outcomes);
}

TEST(LiveSummaryTest, DelaysAreHeldAgainstStepsAndSeconds) {
  const LiveSummary summary = Summary("slow-64", {Slow(9), Slow(11), Slow(18), Slow(-1)});
  EXPECT_EQ(summary.within_median.successes, 1);  // 5 steps of 1 s and 5 s
  EXPECT_EQ(summary.within_p95.successes, 2);     // and 12 s: 17 s
  EXPECT_EQ(summary.within_p95.trials, 4);
  EXPECT_DOUBLE_EQ(summary.named_seconds.most, 60) << "what was never named counts with all of its time";
  EXPECT_EQ(summary.named.successes, 3);
  EXPECT_EQ(summary.failures.total(), 2);
}

TEST(LiveSummaryTest, EffortsArePerMachineAndSecond) {
  const LiveSummary summary = Summary("slow-64", {Slow(9), Slow(9)});
  EXPECT_DOUBLE_EQ(summary.pulled_bytes.value, 100);
  EXPECT_DOUBLE_EQ(summary.cores_per_1000.median, 0.1);
  EXPECT_DOUBLE_EQ(summary.unknown_share.value, 0.25);
}

TEST(LiveSummaryTest, InnocentsAreCountedPerJobHour) {
  LiveOutcome wrong = Slow(9);
  wrong.score.accused_wrongly = {"node-3", "node-4"};
  wrong.score.hosts_accused = 3;
  std::vector<LiveOutcome> outcomes(39, Slow(9));
  outcomes.push_back(wrong);
  const LiveSummary summary = Summary("healthy", outcomes);
  EXPECT_EQ(summary.innocents.accused, 2);
  EXPECT_EQ(summary.innocents.episodes, 1);
  EXPECT_DOUBLE_EQ(summary.innocents.job_hours, 1);
  EXPECT_DOUBLE_EQ(summary.innocents.per_job_hour(), 2);
  EXPECT_NEAR(summary.innocents.upper_per_job_hour(), 4.74, 0.02) << "95 % bound of a Poisson count of 1";
  EXPECT_EQ(summary.accused_rightly.successes, 40);
  EXPECT_EQ(summary.accused_rightly.trials, 42);
  const std::vector<Measure> measures = LiveMeasuresOf({summary});
  ASSERT_FALSE(measures.empty());
  EXPECT_FALSE(measures[0].met);
}

TEST(LiveSummaryTest, HangsCountByTheirExactSet) {
  std::vector<LiveOutcome> outcomes = {Slow(4), Slow(4), Slow(4)};
  for (LiveOutcome& outcome : outcomes) outcome.score.causes[0].stops_job = true;
  outcomes[0].score.causes[0].exact_seconds = 5;
  outcomes[1].score.causes[0].exact_seconds = 12;
  const LiveSummary summary = Summary("hangs", outcomes);
  EXPECT_EQ(summary.hang_in_time.successes, 1);
  EXPECT_EQ(summary.hang_in_time.trials, 3);
  EXPECT_DOUBLE_EQ(summary.exact_seconds.most, 60);
  EXPECT_EQ(summary.within_p95.trials, 0) << "a hang has no steps to count by";
}

TEST(LiveSummaryTest, WhatDiffersFromTheFileIsListed) {
  LiveOutcome same = Slow(9), other = Slow(9);
  same.judged_as_file = other.judged_as_file = true;
  same.file_score.causes.resize(1);
  other.file_score.causes.resize(1);
  other.parity = {false, "only as a file: compute_slow"};
  const LiveSummary summary = Summary("slow-64", {same, other, Slow(9)});
  EXPECT_EQ(summary.agrees_with_file.successes, 1);
  EXPECT_EQ(summary.agrees_with_file.trials, 2);
  ASSERT_EQ(summary.disagreements.listed.size(), 1u);
  EXPECT_EQ(summary.disagreements.listed[0].why, "only as a file: compute_slow");
}

}  // namespace
}  // namespace lockstep
