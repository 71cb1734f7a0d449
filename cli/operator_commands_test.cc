// What operators type: what is asked of the collector for it, what is printed, and what is refused before it is asked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/testing/sim_clock.h"
#include "cli/command_line.h"
#include "cli/testing/fake_query_server.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = SimClock::kStartWallNanos;

class OperatorCommandsTest : public testing::Test {
 protected:
  OperatorCommandsTest() {
    answers_.status.set_now_wall_ns(kNow);
    answers_.on_change = [this](const google::protobuf::Message& request) {
      asked_.push_back(request.ShortDebugString());
    };
  }

  // Prints, and gives the exit code.
  ExitCode Run(const std::vector<std::string>& arguments, bool terminal = false) {
    const FakeQueryServer server(answers_);
    out_.str("");
    err_.str("");
    asked_.clear();
    SimClock clock;
    return RunCommandLine(arguments, {server.address(),
                                      out_,
                                      err_,
                                      terminal ? 120 : 0,
                                      false,
                                      clock,
                                      {},
                                      /*colour=*/terminal,
                                      terminal ? 40 : 0});
  }

  FakeQueryServer::Answers answers_;
  std::vector<std::string> asked_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(OperatorCommandsTest, AckIsTheSameUnderBothNames) {
  for (const auto& words : {std::vector<std::string>{"ack", "7", "--note", "drained"},
                            std::vector<std::string>{"incidents", "ack", "7", "--note", "drained"}}) {
    EXPECT_EQ(Run(words), ExitCode::kOk);
    EXPECT_THAT(asked_, ElementsAre("incident: 7 note: \"drained\""));
    EXPECT_EQ(out_.str(), "incident 7 is acknowledged by alice\n");
  }
  EXPECT_EQ(Run({"incidents", "ack", "7", "--undo"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("incident: 7 undo: true"));
  EXPECT_EQ(out_.str(), "incident 7 is in nobody's hands\n");
}

TEST_F(OperatorCommandsTest, ASilenceEndsByTheClockOfTheCollector) {
  EXPECT_EQ(Run({"incidents", "silence", "7", "--for", "2h", "--note", "parts"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("incident: 7 until_wall_ns: " + std::to_string(kNow + 7'200'000'000'000) +
                                  " note: \"parts\""));
  EXPECT_EQ(out_.str(), "incident 7 is silenced until 2026-01-02 05:04:05 UTC\n");
  EXPECT_EQ(Run({"incidents", "silence", "7", "--undo"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("incident: 7"));
  EXPECT_EQ(out_.str(), "incident 7 is silenced no more\n");
}

TEST_F(OperatorCommandsTest, ResolveAndComment) {
  EXPECT_EQ(Run({"incidents", "resolve", "7", "--note", "swapped"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("incident: 7 note: \"swapped\""));
  EXPECT_EQ(out_.str(), "incident 7 is resolved by alice\n");
  EXPECT_EQ(Run({"incidents", "comment", "7", "fan 3 is loud"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("incident: 7 text: \"fan 3 is loud\""));
  EXPECT_EQ(out_.str(), "incident 7 has 1 comment\n");
}

TEST_F(OperatorCommandsTest, WhatDoesNotGoTogetherIsUsageAndIsNotAsked) {
  const std::vector<std::vector<std::string>> wrong = {
      {"incidents", "silence", "7"},
      {"incidents", "silence", "7", "--for", "soon"},
      {"incidents", "silence", "7", "--undo", "--for", "1h"},
      {"incidents", "resolve", "7", "--undo"},
      {"incidents", "resolve", "7", "--for", "1h"},
      {"incidents", "comment", "7"},
      {"incidents", "comment", "7", "text", "--note", "n"},
      {"incidents", "ack", "7", "text"},
      {"incidents", "ack", "seven"},
      {"incidents", "mend", "7"},
      {"ack", "7", "--undo", "--note", "n"},
      {"maintenance", "add", "--for", "1h"},
      {"maintenance", "add", "--host", "a"},
      {"maintenance", "end"},
      {"maintenance", "list", "3"},
      {"maintenance", "end", "3", "--host", "a"},
      {"maintenance", "begin"},
      {"completion", "tcsh"},
      {"top", "--every", "never"},
  };
  for (const std::vector<std::string>& words : wrong) {
    EXPECT_EQ(Run(words), ExitCode::kUsage) << testing::PrintToString(words);
    EXPECT_THAT(err_.str(), StartsWith("lockstep: ")) << testing::PrintToString(words);
    EXPECT_THAT(asked_, ElementsAre()) << testing::PrintToString(words);
  }
}

TEST_F(OperatorCommandsTest, MaintenanceIsAddedListedAndEnded) {
  EXPECT_EQ(Run({"maintenance", "add", "--host", "a", "--host", "b", "--job", "demo", "--in", "1h", "--for", "30m"}),
            ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("hosts: \"a\" hosts: \"b\" jobs: \"demo\" begin_wall_ns: " +
                                  std::to_string(kNow + 3'600'000'000'000) +
                                  " end_wall_ns: " + std::to_string(kNow + 5'400'000'000'000)));
  EXPECT_EQ(out_.str(), "window 3 of a, b, job demo is from 2026-01-02 04:04:05 UTC to 2026-01-02 04:34:05 UTC\n");
  EXPECT_EQ(Run({"maintenance", "end", "3"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre("id: 3"));
  EXPECT_EQ(Run({"maintenance"}), ExitCode::kOk);
  EXPECT_EQ(out_.str(), "no maintenance\n");
  wire::MaintenanceWindow& window = *answers_.maintenance.add_windows();
  window.set_id(3);
  for (const char* host : {"a", "b", "c", "d", "e"}) window.add_hosts(host);
  window.set_begin_wall_ns(kNow - 1);
  window.set_end_wall_ns(kNow + 1);
  window.set_by("alice");
  EXPECT_EQ(Run({"maintenance", "list"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(" 3  now    "), HasSubstr("a, b, c and 2 more  alice")));
}

TEST_F(OperatorCommandsTest, SilencedIncidentsAreListedWithTheirEnd) {
  EXPECT_EQ(Run({"incidents", "--silenced"}), ExitCode::kOk);
  EXPECT_EQ(out_.str(), "no silenced incidents\n");
  for (uint64_t id = 1; id <= 2; ++id) {
    wire::Incident& incident = *answers_.incidents.add_incidents();
    incident.set_id(id);
    incident.set_job("demo");
    incident.set_state(wire::Incident::STATE_OPEN);
  }
  wire::Incident::Silence& silence = *answers_.incidents.mutable_incidents(1)->mutable_silence();
  silence.set_until_wall_ns(kNow + 5'400'000'000'000);
  silence.set_by("alice");
  silence.set_note("parts");
  EXPECT_EQ(Run({"incidents", "--silenced"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("2026-01-02 04:34:05 (in 1h30m)  alice  parts\n"), Not(HasSubstr("\n 1  "))));
}

TEST_F(OperatorCommandsTest, HostsThatWereBlamedSayHowOften) {
  for (const char* host : {"a", "b"}) {
    wire::AgentStatus& agent = *answers_.status.add_agents();
    agent.set_host(host);
    agent.set_connected(true);
    agent.set_last_report_wall_ns(kNow);
  }
  wire::HostHistory& history = *answers_.status.add_host_histories();
  history.set_host("b");
  history.set_incidents(5);
  history.set_jobs(3);
  history.set_score(4.25);
  EXPECT_EQ(Run({"hosts"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("its reports            -      -\n"), HasSubstr("5 in 3 jobs    4.2\n")));
}

TEST_F(OperatorCommandsTest, TopIsPlainTextWhereThereIsNoTerminal) {
  answers_.jobs.add_jobs()->set_job("demo");
  EXPECT_EQ(Run({"top", "--once"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("JOB"), HasSubstr("demo"), Not(HasSubstr("\x1b"))));
}

TEST_F(OperatorCommandsTest, ColoursAreForTerminalsOnly) {
  wire::Job& job = *answers_.jobs.add_jobs();
  job.set_job("demo");
  job.set_state("hung");
  EXPECT_EQ(Run({"jobs"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(Run({"jobs"}, /*terminal=*/true), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[31mhung"));
}

}  // namespace
}  // namespace lockstep
