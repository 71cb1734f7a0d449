// A collector that starts again: engines and incidents go on.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
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

// The log of the job, as the store has it.
JobTable::Outlets WithLog(JobTable::Outlets outlets, std::function<absl::Status(const JobTable::Visit&)> read) {
  outlets.read_log = [read = std::move(read)](const std::string& job, int64_t max_inputs,
                                              const JobTable::Visit& visit) {
    EXPECT_EQ(job, "train");
    EXPECT_GT(max_inputs, 0);
    return read(visit);
  };
  return outlets;
}

// Who is slow from the first step on that an engine sees may have to be, if it is the first rank.
TEST_F(JobTableTest, AnEngineThatBeginsAnewKnowsWhatTheLogHoldsFromBeforeTheFault) {
  JobTable table(options_, clock_, WithLog({log_, alerts_, index_, metrics_, Record()}, [&](const auto& visit) {
                   const std::vector<wire::CaptureEntry> entries = log_.entries;
                   for (const wire::CaptureEntry& entry : entries) {
                     if (absl::Status status = visit(entry); !status.ok()) return status;
                   }
                   return absl::OkStatus();
                 }));
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 40; ++second) RunSecond(table, second, /*slow_rank=*/0);
  ASSERT_EQ(index_.open_count(), 1u);
  const size_t announced = alerts_.events.size();
  log_.healthy_ = false;
  for (; second < 45; ++second) RunSecond(table, second, /*slow_rank=*/0);
  log_.healthy_ = true;
  for (; second < 90; ++second) RunSecond(table, second, /*slow_rank=*/0);
  EXPECT_EQ(index_.open_count(), 1u);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated) << "the fault held all the time";
  }
  const int64_t from_ns = log_.entries.front().reset().wall_ns();
  EXPECT_TRUE(std::any_of(log_.entries.begin(), log_.entries.end(), [&](const wire::CaptureEntry& entry) {
    return entry.reset().warmed_from_wall_ns() == from_ns;
  }));
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u);
}

TEST_F(JobTableTest, AnEngineBeginsAnewAllTheSameIfTheLogCannotBeRead) {
  JobTable table(options_, clock_, WithLog({log_, alerts_, index_, metrics_, Record()}, [](const auto&) {
                   return absl::UnavailableError("too slow");
                 }));
  RunSecond(table, 0);
  log_.healthy_ = false;
  RunSecond(table, 1);
  log_.healthy_ = true;
  RunSecond(table, 2);
  const auto resets = std::count_if(log_.entries.begin(), log_.entries.end(),
                                    [](const wire::CaptureEntry& entry) { return entry.has_reset(); });
  EXPECT_EQ(resets, 2);
  EXPECT_EQ(table.snapshot()->jobs.size(), 1u);
}

}  // namespace
}  // namespace lockstep
