// A collector that starts again: engines and incidents go on.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "collector/job_table.h"
#include "collector/testing/job_table_fixture.h"

namespace lockstep {
namespace {

TEST_F(JobTableTest, ARestoredIncidentStaysOpenUntilItsJobIsGivenUp) {
  wire::Incident incident;
  incident.set_id(41);
  incident.set_job("train");
  incident.set_key("cause");
  incident.set_state(wire::Incident::STATE_OPEN);
  index_.Put(incident);
  options_.forget_after_ns = 20 * kNanosPerSecond;
  JobTable table = MakeTable();
  table.Restore({incident});
  table.Evaluate();
  EXPECT_EQ(index_.open_count(), 1u);
  clock_.Advance(21 * kNanosPerSecond);
  table.Evaluate();
  EXPECT_EQ(index_.open_count(), 0u);
  EXPECT_EQ(index_.NextId(), 42u);
}

TEST_F(JobTableTest, AfterARestartEnginesGoOnWhereTheirLogEnds) {
  int second = RunLifeWithASlowRank();
  ASSERT_EQ(index_.open_count(), 1u);
  const std::vector<wire::CaptureEntry> before = log_.entries;
  clock_.Advance(20 * kNanosPerSecond);  // nobody listens
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  table.Evaluate();
  EXPECT_EQ(log_.entries.size(), before.size()) << "nothing is concluded before the job is heard of again";
  const size_t announced = alerts_.events.size();
  for (const int until = second + 15; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated) << "the fault held all the time";
  }
  EXPECT_EQ(index_.open_count(), 1u);
  EXPECT_EQ(log_.entries.at(before.size()).reset().warmed_from_wall_ns(), before.front().reset().wall_ns());
  for (const int until = second + 25; second < until; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);

  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.resets, 2u);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_unanchored, 0u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
}

// A loss of power takes the last seconds of the log and no incident: what the engine is given again ends before the
// fault, and says that all is well.
TEST_F(JobTableTest, AnIncidentThatTheLogDoesNotKnowStaysOpenWhileItsFaultHolds) {
  int second = 0;
  std::vector<wire::CaptureEntry> before;
  {
    JobTable table = MakeTable();
    for (; second < 60; ++second) RunSecond(table, second);
    before = log_.entries;
    for (const int until = second + 180; second < until && index_.open_count() == 0; ++second) {
      RunSecond(table, second, /*slow_rank=*/2);
    }
  }
  ASSERT_EQ(index_.open_count(), 1u);
  log_.entries = before;
  const size_t announced = alerts_.events.size();
  clock_.Advance(20 * kNanosPerSecond);  // nobody listens
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  for (const int until = second + 30; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 1u);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated) << "the fault held all the time";
  }
  for (const int until = second + 40; second < until; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);
}

TEST_F(JobTableTest, ACaptureThatBeginsAfterAWarmUpDidIsNotCompared) {
  int second = 0;
  {
    JobTable table = MakeTable();
    for (; second < 10; ++second) RunSecond(table, second);
  }
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  log_.entries.erase(log_.entries.begin(), log_.entries.begin() + 8);
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_equal, 0u);
  EXPECT_GT(summary.conclusions_unanchored, 0u);
}

TEST_F(JobTableTest, WhatAColdEngineHasNotJudgedStaysOpenAndResolvesOnceItHas) {
  int second = RunLifeWithASlowRank();
  ASSERT_EQ(index_.open_count(), 1u);
  const size_t announced = alerts_.events.size();
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [](const JobTable::Visit&) { return absl::DataLossError("a chunk does not decode"); });
  for (const int until = second + 15; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 1u);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated);
  }
  for (const int until = second + 40; second < until; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);
}

}  // namespace
}  // namespace lockstep
