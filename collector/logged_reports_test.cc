#include "collector/logged_reports.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "collector/ingest/agent_ledger.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

using Place = LoggedReports::Place;

AgentLedger::Ticket TicketOf(uint64_t sequence, uint64_t incarnation = 7, const std::string& host = "node-1") {
  return {std::make_shared<AgentLedger>(host, incarnation, 0), sequence, 0};
}

wire::CaptureInput InputOf(uint64_t sequence, uint64_t incarnation = 7) {
  wire::CaptureInput input;
  input.set_job("train");
  input.set_host("node-1");
  input.set_incarnation(incarnation);
  input.mutable_report()->set_sequence(sequence);
  return input;
}

TEST(LoggedReportsTest, TheLogOfEachJobIsTheBeginningOfWhatEachAgentSent) {
  LoggedReports logged;
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5)), Place::kNext);
  logged.NoteLogged("train", TicketOf(5), 1);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(4)), Place::kLogged);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5)), Place::kLogged);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(9)), Place::kNext) << "a report need not have a part for each job";
  EXPECT_EQ(logged.PlaceOf("other", TicketOf(5)), Place::kNext);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 8)), Place::kNext) << "another agent";
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 7, "node-2")), Place::kNext);
  EXPECT_EQ(logged.PlaceOf("train", {}), Place::kNext) << "what no agent sends again";
}

TEST(LoggedReportsTest, GoesOnWhereAnEarlierLifeHasStopped) {
  LoggedReports logged;
  for (const uint64_t sequence : {3, 4, 5}) logged.Restore(InputOf(sequence), 1);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5)), Place::kLogged);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(6)), Place::kNext);
}

TEST(LoggedReportsTest, RemembersTheLatestAgentsOfAHostForAnHour) {
  LoggedReports logged;
  for (uint64_t incarnation = 1; incarnation <= LoggedReports::kMaxIncarnations + 1; ++incarnation) {
    logged.NoteLogged("train", TicketOf(5, incarnation), static_cast<int64_t>(incarnation));
  }
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 1)), Place::kNext);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 2)), Place::kLogged);
  logged.Forget(2 + LoggedReports::kKeptNanos);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 2)), Place::kLogged);
  logged.Forget(3 + LoggedReports::kKeptNanos);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 2)), Place::kNext);
  EXPECT_EQ(logged.PlaceOf("train", TicketOf(5, 3)), Place::kLogged);
}

}  // namespace
}  // namespace lockstep
