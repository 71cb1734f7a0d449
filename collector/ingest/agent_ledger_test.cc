#include "collector/ingest/agent_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/host_takeovers.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FakeStream final : public AgentStream {
 public:
  void OnStored(uint64_t sequence) override { acks.push_back(sequence); }
  void Resume() override {}
  bool Send(const wire::Command& command) override {
    commands.push_back(command.id());
    return commands.size() < 3;
  }
  std::string peer() const override { return "ipv4:10.0.0.7:40312"; }
  void Close(const absl::Status& status) override { closed = status; }

  std::vector<uint64_t> acks;
  std::vector<uint64_t> commands;
  absl::Status closed;
};

// As the store writer does it: complete, write, publish.
void Store(const std::shared_ptr<AgentLedger>& ledger, std::vector<AgentLedger::Ticket> slices) {
  for (const AgentLedger::Ticket& slice : slices) ledger->CompleteSlice(slice);
  ledger->PublishStored(ledger->completed_sequence());
}

TEST(AgentLedgerTest, AReportIsAcknowledgedWhenAllItsSlicesAre) {
  auto ledger = std::make_shared<AgentLedger>("node-1", 7, 0);
  auto stream = std::make_shared<FakeStream>();
  ledger->Attach(stream);
  const uint32_t epoch = ledger->Accept(1, 2, 0).value();
  Store(ledger, {{ledger, 1, epoch}});
  EXPECT_TRUE(stream->acks.empty());
  Store(ledger, {{ledger, 1, epoch}});
  EXPECT_EQ(stream->acks, std::vector<uint64_t>{1});
}

TEST(AgentLedgerTest, AcknowledgementsAreCumulativeWhateverTheOrderOfStoring) {
  auto ledger = std::make_shared<AgentLedger>("node-1", 7, 0);
  auto stream = std::make_shared<FakeStream>();
  ledger->Attach(stream);
  for (uint64_t sequence : {1, 2, 3}) ASSERT_TRUE(ledger->Accept(sequence, 1, 0).has_value());
  Store(ledger, {{ledger, 3, 0}});
  Store(ledger, {{ledger, 2, 0}});
  EXPECT_TRUE(stream->acks.empty());
  Store(ledger, {{ledger, 1, 0}});
  EXPECT_EQ(stream->acks, std::vector<uint64_t>{3});
}

TEST(AgentRegistryTest, CommandsGoToTheConnectedAgentAlone) {
  SimClock clock;
  AgentRegistry registry({}, clock);
  wire::Command command;
  command.set_id(9);
  EXPECT_FALSE(registry.Send("node-1", command));
  auto stream = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect("node-1", 7, "v", 0, stream));
  EXPECT_TRUE(registry.Send("node-1", command));
  EXPECT_FALSE(registry.Send("node-2", command));
  EXPECT_EQ(stream->commands, std::vector<uint64_t>{9});
  stream.reset();
  EXPECT_FALSE(registry.Send("node-1", command));
}

TEST(AgentLedgerTest, WhatWasAcceptedIsADuplicate) {
  AgentLedger ledger("node-1", 7, 10);
  EXPECT_FALSE(ledger.Accept(10, 1, 0).has_value());
  EXPECT_TRUE(ledger.Accept(11, 1, 0).has_value());
  EXPECT_TRUE(ledger.IsDuplicate(11));
  EXPECT_FALSE(ledger.Accept(11, 1, 0).has_value());
  EXPECT_FALSE(ledger.IsDuplicate(12));
}

TEST(AgentLedgerTest, AfterALossNothingIsAcknowledgedUntilTheAgentSendsAgain) {
  auto ledger = std::make_shared<AgentLedger>("node-1", 7, 0);
  auto stream = std::make_shared<FakeStream>();
  ledger->Attach(stream);
  EXPECT_FALSE(ledger->Rewind());
  for (uint64_t sequence : {1, 2, 3}) ledger->Accept(sequence, 1, 0);
  Store(ledger, {{ledger, 1, 0}});
  ledger->MarkLost();  // 2
  Store(ledger, {{ledger, 3, 0}});
  EXPECT_EQ(ledger->stored_sequence(), 1u);

  EXPECT_TRUE(ledger->Rewind());
  EXPECT_THAT(stream->closed, StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("send again")));
  EXPECT_TRUE(ledger->IsStale({ledger, 3, 0}));
  const std::optional<uint32_t> epoch = ledger->Accept(2, 1, 0);
  ASSERT_TRUE(epoch.has_value());
  ledger->Accept(3, 1, 0);
  Store(ledger, {{ledger, 3, 0}});  // a late slice from before the rewind counts for nothing
  EXPECT_EQ(ledger->stored_sequence(), 1u);
  Store(ledger, {{ledger, 2, *epoch}, {ledger, 3, *epoch}});
  EXPECT_EQ(ledger->stored_sequence(), 3u);
}

TEST(AgentRegistryTest, AReconnectKeepsTheLedgerAndClosesTheStreamBefore) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto first = std::make_shared<FakeStream>();
  auto second = std::make_shared<FakeStream>();
  const auto ledger = registry.Connect("node-1", 7, "1.0", 0, first);
  ASSERT_OK(ledger);
  const auto again = registry.Connect("node-1", 7, "1.0", 0, second);
  ASSERT_OK(again);
  EXPECT_EQ(*ledger, *again);
  EXPECT_EQ(first->closed.code(), absl::StatusCode::kAborted);
  EXPECT_OK(second->closed);
}

TEST(AgentRegistryTest, ANewIncarnationBeginsANewLedger) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto first = std::make_shared<FakeStream>();
  auto second = std::make_shared<FakeStream>();
  const auto before = registry.Connect("node-1", 7, "1.0", 0, first);
  (*before)->Accept(5, 1, 0);
  const auto after = registry.Connect("node-1", 8, "1.0", 0, second);
  EXPECT_EQ((*after)->accepted_sequence(), 0u);
  EXPECT_EQ(first->closed.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(registry.Find("node-1", 7), nullptr);
  EXPECT_EQ(registry.Find("node-1", 8), *after);
}

TEST(AgentRegistryTest, AgentsThatAreStartedAgainAreNoConflict) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  std::vector<std::shared_ptr<FakeStream>> half_dead;
  for (uint64_t incarnation = 1; incarnation < 20; ++incarnation) {
    half_dead.push_back(std::make_shared<FakeStream>());
    ASSERT_OK(registry.Connect("node-1", incarnation, "1.0", 0, half_dead.back()));
    EXPECT_OK(half_dead.back()->closed);
    // The network blinks: the same agent once more.
    half_dead.push_back(std::make_shared<FakeStream>());
    ASSERT_OK(registry.Connect("node-1", incarnation, "1.0", 0, half_dead.back()));
  }
  EXPECT_EQ(registry.TakeConflicts(), 0u);
}

TEST(AgentRegistryTest, AnAgentThatTakesItsHostBackFromALivingOneIsAConflict) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  std::shared_ptr<FakeStream> stream;
  testing::internal::CaptureStderr();
  for (int turn = 0; turn < 3; ++turn) {
    for (const uint64_t incarnation : {7, 8}) {
      const auto before = std::exchange(stream, std::make_shared<FakeStream>());
      ASSERT_OK(registry.Connect("node-1", incarnation, "1.0", 0, stream));
      if (before == nullptr) continue;
      EXPECT_THAT(before->closed, StatusIs(absl::StatusCode::kAborted, HasSubstr("10.0.0.7:40312")));
    }
  }
  EXPECT_EQ(registry.TakeConflicts(), 4u);
  EXPECT_EQ(registry.TakeConflicts(), 0u);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("level=warning"), HasSubstr("host=node-1"), HasSubstr(" incarnation=7"),
                         HasSubstr(" peer=ipv4:10.0.0.7:40312"), HasSubstr(" other_incarnation=8"),
                         HasSubstr(" other_peer=ipv4:10.0.0.7:40312")));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(HostTakeoversTest, ACrowdOfOneNameIsSeenWhenOneOfTheLastLosersComesBack) {
  HostTakeovers takeovers;
  const uint64_t crowd = HostTakeovers::kRememberedLosers + 2;
  for (uint64_t winner = 1; winner <= crowd; ++winner) EXPECT_FALSE(takeovers.OnTakeover(winner, winner - 1));
  EXPECT_FALSE(takeovers.OnTakeover(0, crowd)) << "lost too long ago";
  EXPECT_TRUE(takeovers.OnTakeover(crowd, 0));
}

TEST(HostTakeoversTest, WarnsOncePerPeriod) {
  HostTakeovers takeovers;
  EXPECT_TRUE(takeovers.MayWarn(5));
  EXPECT_FALSE(takeovers.MayWarn(4 + HostTakeovers::kWarningPeriodNanos));
  EXPECT_TRUE(takeovers.MayWarn(5 + HostTakeovers::kWarningPeriodNanos));
}

TEST(AgentRegistryTest, SilenceIsSeenAfterAsLongAsTheDetectorWaits) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto stream = std::make_shared<FakeStream>();
  const auto ledger = registry.Connect("node-1", 7, "1.0", 0, stream);
  clock.Advance(4 * kNanosPerSecond);
  (*ledger)->Accept(1, 1, clock.WallNanos());
  clock.Advance(AgentRegistryOptions().silent_after_ns);
  registry.ForgetGone();
  EXPECT_FALSE(registry.agents().at(0).silent);
  clock.Advance(1);
  ASSERT_EQ(registry.agents().size(), 1u);
  EXPECT_TRUE(registry.agents()[0].silent);
  EXPECT_TRUE(registry.agents()[0].connected);
  EXPECT_EQ(registry.agents()[0].last_sequence, 1u);
}

TEST(AgentRegistryTest, TheLimitEvictsTheLongestGoneAndNeverTheConnected) {
  SimClock clock;
  AgentRegistryOptions options;
  options.max_agents = 2;
  AgentRegistry registry(options, clock);
  auto kept = std::make_shared<FakeStream>();
  auto gone = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect("a", 1, "", 0, kept));
  ASSERT_OK(registry.Connect("b", 1, "", 0, gone));
  auto third = std::make_shared<FakeStream>();
  EXPECT_EQ(registry.Connect("c", 1, "", 0, third).status().code(), absl::StatusCode::kResourceExhausted);
  gone.reset();
  ASSERT_OK(registry.Connect("c", 1, "", 0, third));
  EXPECT_NE(registry.Find("a", 1), nullptr);
  EXPECT_EQ(registry.Find("b", 1), nullptr);
}

TEST(AgentRegistryTest, AgentsThatAreLongGoneAreForgotten) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto stream = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect("a", 1, "", 0, stream));
  clock.Advance(2 * 3'600 * kNanosPerSecond);
  registry.ForgetGone();
  EXPECT_EQ(registry.agents().size(), 1u);  // still connected
  stream.reset();
  clock.Advance(3'601 * kNanosPerSecond);
  registry.ForgetGone();
  EXPECT_TRUE(registry.agents().empty());
}

}  // namespace
}  // namespace lockstep
