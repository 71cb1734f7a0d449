// A job that no host reports of any more, beside other hosts that do: who is named, what is logged, and its replay.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/incident/incident_book.h"
#include "collector/ingest/agent_registry.h"
#include "collector/job_table.h"
#include "collector/testing/job_table_fixture.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int kLongSeconds = 40;

class JobTableSilenceTest : public JobTableTest {
 protected:
  JobTable MakeTable() {
    return JobTable(options_, clock_,
                    {log_, alerts_, index_, metrics_, Record(), nullptr, nullptr, [this] { return agents_; }});
  }

  void Hear(const std::string& host) {
    for (AgentView& agent : agents_) {
      if (agent.host == host) agent.last_report_wall_ns = clock_.WallNanos();
    }
  }

  // The job of node-0 and node-1 runs, and all of the fleet is heard.
  void Run(JobTable& table, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      for (AgentView& agent : agents_) agent.last_report_wall_ns = clock_.WallNanos();
      RunSecond(table, second_++);
    }
  }

  // Nobody tells of the job; `heard` report of something else.
  void FallSilent(JobTable& table, const std::vector<std::string>& heard, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      for (const std::string& host : heard) Hear(host);
      clock_.Advance(kNanosPerSecond / 2);
      table.Evaluate();
      clock_.Advance(kNanosPerSecond / 2);
      table.Evaluate();
    }
  }

  std::vector<std::string> OpenCauses() {
    std::vector<std::string> causes;
    index_.ForEach(/*open_only=*/true, "", [&](const wire::Incident& incident) { causes.push_back(incident.key()); });
    return causes;
  }

  int64_t Count(IncidentEvent::Kind kind) const {
    return std::count_if(alerts_.events.begin(), alerts_.events.end(),
                         [kind](const IncidentEvent& event) { return event.kind == kind; });
  }

  static AgentView Agent(const std::string& host) {
    AgentView view;
    view.host = host;
    return view;
  }

  std::vector<AgentView> agents_ = {Agent("node-0"), Agent("node-1"), Agent("node-2"), Agent("node-3")};
  int second_ = 0;
};

TEST_F(JobTableSilenceTest, HostsThatAreGoneAreNamedAndComeBack) {
  JobTable table = MakeTable();
  Run(table, 10);
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  EXPECT_THAT(OpenCauses(), UnorderedElementsAre("hang:node-0", "hang:node-1"));
  EXPECT_EQ(Count(IncidentEvent::Kind::kOpened), 2) << "somebody is called, once for each";
  const wire::Verdict& verdict = alerts_.events[0].incident.verdict();
  EXPECT_EQ(verdict.class_(), "machine_unreachable");
  EXPECT_EQ(verdict.scope(), "unknown");
  Run(table, 10);
  EXPECT_THAT(OpenCauses(), IsEmpty());
  EXPECT_EQ(Count(IncidentEvent::Kind::kResolved), 2);
}

TEST_F(JobTableSilenceTest, NobodyIsNamedWhileNobodyElseIsHeardOrTheHostsAreThere) {
  const std::vector<std::vector<std::string>> heard = {{}, {"node-2"}, {"node-0", "node-2", "node-3"}};
  for (const std::vector<std::string>& hosts : heard) {
    JobTable table = MakeTable();
    Run(table, 10);
    FallSilent(table, hosts, kLongSeconds);
    EXPECT_THAT(OpenCauses(), IsEmpty()) << hosts.size() << " are heard";
  }
}

TEST_F(JobTableSilenceTest, AJobThatEndedInOrderIsNotMissed) {
  JobTable table = MakeTable();
  Run(table, 10);
  End(table, second_++, /*signal=*/0);
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  EXPECT_THAT(OpenCauses(), IsEmpty());
  EXPECT_THAT(alerts_.events, IsEmpty());
}

TEST_F(JobTableSilenceTest, WhatHeldBeforeIsNotOver) {
  JobTable table = MakeTable();
  for (; second_ < 25; ++second_) {
    for (AgentView& agent : agents_) agent.last_report_wall_ns = clock_.WallNanos();
    RunSecond(table, second_, second_ < 10 ? -1 : 2);
  }
  ASSERT_THAT(OpenCauses(), ElementsAre("slow:node-1/rank2"));
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  EXPECT_THAT(OpenCauses(), UnorderedElementsAre("slow:node-1/rank2", "hang:node-0", "hang:node-1"));
}

// An agent may hang in a connection to a collector that lost its power, for a minute.
TEST_F(JobTableSilenceTest, AfterARestartHostsAreAwaitedForAMinute) {
  {
    JobTable table = MakeTable();
    Run(table, 10);
  }
  JobTable table = MakeTable();
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  table.Observe(Slice("node-1", MakeTestReport(11, {.first_rank = 2, .ranks = 2, .first_step = 101})));
  Hear("node-1");
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  EXPECT_THAT(OpenCauses(), ElementsAre("hang:node-1")) << "it was there, and is gone";
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  EXPECT_THAT(OpenCauses(), UnorderedElementsAre("hang:node-0", "hang:node-1"));
}

TEST_F(JobTableSilenceTest, TheLogSaysWhatWasSeenOfTheFleetAndIsReplayedAlike) {
  JobTable table = MakeTable();
  Run(table, 10);
  FallSilent(table, {"node-2", "node-3"}, kLongSeconds);
  int told = 0;
  for (const wire::CaptureEntry& entry : log_.entries) {
    if (!entry.has_watermark() || entry.watermark().hosts_reporting() == 0) continue;
    ++told;
    EXPECT_EQ(entry.watermark().hosts_reporting(), 2);
  }
  EXPECT_GT(told, 2 * (kLongSeconds - 7));
  EXPECT_LE(told, 2 * (kLongSeconds - 4)) << "not while somebody reports of the job";
  std::vector<std::string> lines;
  const ReplaySummary replay = Replay(lines);
  EXPECT_EQ(replay.conclusions_different, 0u);
  EXPECT_GT(replay.conclusions_equal, 10u);
  EXPECT_NE(lines.back().find("machine_unreachable"), std::string::npos) << lines.back();

  for (wire::CaptureEntry& entry : log_.entries) {
    if (!entry.has_watermark()) continue;
    entry.mutable_watermark()->clear_hosts_reporting();
    entry.mutable_watermark()->clear_hosts_silent();
  }
  std::vector<std::string> of_an_older_collector;
  Replay(of_an_older_collector);
  for (const std::string& line : of_an_older_collector) {
    EXPECT_EQ(line.find("machine_unreachable"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace lockstep
