#include "collector/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "collector/testing/job_table_fixture.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST_F(JobTableTest, TheLogBeginsWithAResetAndRisesStrictlyUpToConclusions) {
  JobTable table = MakeTable();
  for (int second = 0; second < 3; ++second) RunSecond(table, second);
  ASSERT_GE(log_.entries.size(), 13u);  // a reset, six inputs, six watermarks
  ASSERT_TRUE(log_.entries[0].has_reset());
  EXPECT_THAT(log_.entries[0].reset().why(), HasSubstr("first report"));
  int64_t last = log_.entries[0].reset().wall_ns();
  EXPECT_GE(last, SimClock::kStartWallNanos);
  for (size_t i = 1; i < log_.entries.size(); ++i) {
    const wire::CaptureEntry& entry = log_.entries[i];
    if (entry.has_conclusion()) {
      EXPECT_EQ(entry.conclusion().wall_ns(), last);
      continue;
    }
    const int64_t now = entry.has_input() ? entry.input().received_wall_ns() : entry.watermark().wall_ns();
    EXPECT_GT(now, last);
    last = now;
  }
}

TEST_F(JobTableTest, TransfersAreWatchedWhenEveryStepIsLongerAndNoRankIsToBlame) {
  JobTable table = MakeTable();
  for (int second = 0; second < 10; ++second) RunSecond(table, second);
  for (int round = 10; round < 30; ++round) {
    RunRoundOfLongSteps(table, round);
    const auto watch = std::find_if(commands_.begin(), commands_.end(),
                                    [](const auto& command) { return command.second.has_watch_transfers(); });
    if (watch == commands_.end()) continue;
    EXPECT_EQ(watch->second.job(), "train");
    EXPECT_EQ(watch->second.watch_transfers().duration_ns(), 10 * kNanosPerSecond);
    EXPECT_EQ(metrics_.watches.requested.Value(), 2);
    EXPECT_EQ(metrics_.watches.unsent.Value(), 0);
    EXPECT_GE(round, 10);
    std::vector<std::string> lines;
    EXPECT_EQ(Replay(lines).conclusions_different, 0u);
    return;
  }
  FAIL() << "nobody asked for transfers; " << metrics_.pulls.requested.Value() << " pulls";
}

TEST_F(JobTableTest, ReplayOfTheLogGivesTheSameConclusionsByteForByte) {
  JobTable table = MakeTable();
  RunUntilSlow(table);
  for (int i = 0; i < 60; ++i) {  // silence
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }
  std::vector<std::string> first;
  const ReplaySummary summary = Replay(first);
  EXPECT_EQ(summary.inputs, 50u);
  EXPECT_EQ(summary.resets, 1u);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
  EXPECT_GT(summary.conclusions, 0u);
  std::vector<std::string> second_run;
  Replay(second_run);
  EXPECT_EQ(first, second_run);
  // What the replay says is what the live log says.
  std::vector<std::string> logged;
  for (const wire::CaptureEntry& entry : log_.entries) {
    for (const std::string& verdict : entry.conclusion().verdicts()) {
      logged.push_back(std::to_string(entry.conclusion().wall_ns()) + " " + verdict);
    }
  }
  std::erase_if(first, [](const std::string& line) { return line.find("\"verdicts\":[]") != std::string::npos; });
  EXPECT_EQ(first, logged);
}

TEST_F(JobTableTest, ReplayJudgesByTheThresholdsThatWereInForce) {
  // Blind to the slow rank, but quick to call a host silent.
  options_.engine.min_step_cost = 0.99;
  options_.engine.host_silent_ns = 5 * kNanosPerSecond;
  JobTable table = MakeTable();
  RunUntilSlow(table);
  EXPECT_TRUE(alerts_.events.empty());
  for (int i = 0; i < 60; ++i) {  // silence
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_GT(summary.conclusions_equal, 1u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
  ASSERT_TRUE(log_.entries[0].has_reset());
  EXPECT_EQ(log_.entries[0].reset().options().min_step_cost(), 0.99);
  EXPECT_EQ(log_.entries[0].reset().options().host_silent_ns(), 5 * kNanosPerSecond);
}

TEST_F(JobTableTest, TheSnapshotShowsJobsAndRanksButNotTheNamelessJob) {
  JobTable table = MakeTable();
  EXPECT_TRUE(table.snapshot()->jobs.empty());
  table.Observe(Slice("idle-node", MakeHostReport(1, 0.5)));
  RunSecond(table, 0);
  const std::shared_ptr<const JobsSnapshot> snapshot = table.snapshot();
  ASSERT_EQ(snapshot->jobs.size(), 1u);
  const wire::Job& job = snapshot->jobs[0];
  EXPECT_EQ(job.job(), "train");
  EXPECT_EQ(job.hosts(), 2);
  EXPECT_EQ(job.ranks(), 4);
  EXPECT_EQ(job.world_size(), 4);
  ASSERT_EQ(snapshot->ranks.at("train")->size(), 4u);
  EXPECT_EQ(snapshot->ranks.at("train")->at(3).host(), "node-1");
  EXPECT_EQ(snapshot->ranks.at("train")->at(3).process_state(), "running");
}

TEST_F(JobTableTest, AnIdleJobIsForgottenAndBeginsAnewWhenItComesBack) {
  options_.forget_after_ns = 20 * kNanosPerSecond;
  JobTable table = MakeTable();
  RunSecond(table, 0);
  clock_.Advance(options_.forget_after_ns);
  table.Evaluate();
  EXPECT_TRUE(table.snapshot()->jobs.empty());
  RunSecond(table, 1);
  EXPECT_EQ(table.snapshot()->jobs.size(), 1u);
  int resets = 0;
  for (const wire::CaptureEntry& entry : log_.entries) resets += entry.has_reset();
  EXPECT_EQ(resets, 2);
}

TEST_F(JobTableTest, JobsBeyondTheLimitAreLoggedButNotWatched) {
  options_.max_jobs = 1;
  JobTable table = MakeTable();
  TestRanks ranks;
  table.Observe(Slice("a", MakeTestReport(1, ranks)));
  ranks.job = "other";
  table.Observe(Slice("b", MakeTestReport(1, ranks)));
  table.Evaluate();
  EXPECT_EQ(table.snapshot()->jobs.size(), 1u);
  EXPECT_EQ(log_.entries.at(2).input().job(), "other");
}

TEST_F(JobTableTest, OfAFullTableOwnersHaveEqualShares) {
  options_.max_jobs = 4;
  JobTable table = MakeTable();
  uint64_t sequence = 0;
  const auto observe = [&](const std::string& job, uint32_t uid, const std::string& pod = "") {
    TestRanks ranks;
    ranks.job = job;
    wire::AgentReport report = MakeTestReport(++sequence, ranks);
    report.mutable_processes(0)->set_uid(uid);
    report.mutable_processes(0)->set_pod(pod);
    table.Observe(Slice("host-of-" + job, report));
  };
  const auto watched = [&table] {
    table.Evaluate();
    std::vector<std::string> names;
    for (const wire::Job& job : table.snapshot()->jobs) names.push_back(job.job());
    return names;
  };
  for (const char* job : {"a1", "a2", "a3", "a4", "a5"}) observe(job, 1000);
  EXPECT_THAT(watched(), testing::ElementsAre("a1", "a2", "a3", "a4")) << "who came first stays";
  observe("b1", 2000);
  EXPECT_THAT(watched(), testing::ElementsAre("a1", "a2", "a3", "b1"));
  observe("c1", 1000, "team-c/pod-0");
  EXPECT_THAT(watched(), testing::ElementsAre("a1", "a2", "b1", "c1")) << "all pods of a namespace have one owner";
  observe("a3", 1000);
  observe("b2", 2000);
  EXPECT_THAT(watched(), testing::ElementsAre("a1", "a2", "b1", "c1")) << "nobody has two fewer than another";
  wire::AgentReport idle = MakeTestReport(++sequence, TestRanks());
  idle.clear_processes();
  JobSlice slice = Slice("idle", idle);
  slice.input.set_job("");
  table.Observe(std::move(slice));
  table.Evaluate();
  EXPECT_EQ(table.snapshot()->hosts.count(""), 1u) << "machines without a job are never left out";
  EXPECT_EQ(table.snapshot()->jobs.size(), 4u);
}

TEST_F(JobTableTest, OfTwoJobsUnderOneNameOneIsWatchedAndBothAreNamedOnceAMinute) {
  JobTable table = MakeTable();
  testing::internal::CaptureStderr();
  for (int second = 0; second < 70; ++second) {
    TestRanks ranks;
    ranks.ranks = 2;
    ranks.first_step = 1 + 10 * second;
    wire::AgentReport report = MakeTestReport(static_cast<uint64_t>(second) + 1, ranks);
    for (const wire::ProcessReport& first : std::vector(report.processes().begin(), report.processes().end())) {
      wire::ProcessReport& other = *report.add_processes();
      other = first;
      other.set_pid(first.pid() + 10'000);
    }
    table.Observe(Slice("node-0", std::move(report)));
    clock_.Advance(kNanosPerSecond);
    table.Evaluate();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ContainsRegex("same rank of a job.* job=train rank=. host=node-0 pid=.* unwatched_host=node-0 "
                                 "unwatched_pid=1...."));
  const size_t first = log.find("same rank of a job");
  EXPECT_NE(log.find("same rank of a job", first + 1), std::string::npos);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  // Both ranks, from the tenth report on: stamps rise strictly, and the ninth is less than eight seconds after the
  // first.
  EXPECT_EQ(metrics_.job_name_conflicts.Value(), 2 * (70 - 9));
  EXPECT_EQ(table.snapshot()->jobs.at(0).ranks(), 2u);
}

TEST_F(JobTableTest, WhenTheStoreRefusesDetectionGoesOnAndTheLogBeginsAnewAfterwards) {
  JobTable table = MakeTable();
  RunSecond(table, 0);
  log_.healthy_ = false;
  RunSecond(table, 1);
  EXPECT_GE(table.snapshot()->jobs.at(0).last_seen_wall_ns(), SimClock::kStartWallNanos + kNanosPerSecond);
  log_.healthy_ = true;
  const size_t before = log_.entries.size();
  RunSecond(table, 2);
  bool reset = false;
  for (size_t i = before; i < log_.entries.size(); ++i) reset = reset || log_.entries[i].has_reset();
  EXPECT_TRUE(reset);
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u);
}

TEST_F(JobTableTest, OtherThresholdsJudgeFromTheNextEvaluationOnAndAreInTheLog) {
  options_.engine.min_step_cost = 0.99;  // blind to the slow rank
  JobTable table = MakeTable();
  int second = RunUntilSlow(table);
  EXPECT_EQ(index_.open_count(), 0u);
  options_.engine.min_step_cost = JobEngineOptions().min_step_cost;
  table.Reconfigure(options_);
  for (const int until = second + 25; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 1u);
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.resets, 2u);
  EXPECT_EQ(summary.conclusions_different, 0u);
}

}  // namespace
}  // namespace lockstep
