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
void Store(const std::shared_ptr<AgentLedger>& ledger, const std::vector<AgentLedger::Ticket>& slices) {
  for (const AgentLedger::Ticket& slice : slices) ledger->CompleteSlice(slice);
  ledger->PublishStored(ledger->completed_sequence());
}

using Handover = AgentLedger::Handover;

// A ledger, the stream that is attached to it, and shards that take `room` slices more.
class AgentLedgerTest : public testing::Test {
 protected:
  AgentLedgerTest() { ledger_->Attach(stream_); }

  // As a stream does it; what the shards take is in `taken_`.
  Handover HandOver(const AgentStream* stream, uint64_t sequence, size_t slices) {
    return ledger_->HandOver(stream, sequence, slices, [this](size_t index, AgentLedger::Ticket ticket) {
      if (room_ == 0) return false;
      --room_;
      indexes_.push_back(index);
      taken_.push_back(std::move(ticket));
      return true;
    });
  }
  Handover HandOver(uint64_t sequence, size_t slices) { return HandOver(stream_.get(), sequence, slices); }

  // A stream that comes instead of the one before, which may not be gone yet.
  void Reconnect() {
    streams_before_.push_back(stream_);
    stream_ = std::make_shared<FakeStream>();
    ledger_->Attach(stream_);
  }

  std::shared_ptr<AgentLedger> ledger_ = std::make_shared<AgentLedger>("node-1", 7, 0);
  std::shared_ptr<FakeStream> stream_ = std::make_shared<FakeStream>();
  std::vector<std::shared_ptr<FakeStream>> streams_before_;
  size_t room_ = 1'000;
  std::vector<AgentLedger::Ticket> taken_;
  std::vector<size_t> indexes_;  // of the slices in their reports, as taken
};

TEST_F(AgentLedgerTest, AReportIsAcknowledgedWhenAllItsSlicesAre) {
  ASSERT_EQ(HandOver(1, 2), Handover::kAccepted);
  Store(ledger_, {taken_[0]});
  EXPECT_TRUE(stream_->acks.empty());
  Store(ledger_, {taken_[1]});
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{1});
}

TEST_F(AgentLedgerTest, AcknowledgementsAreCumulativeWhateverTheOrderOfStoring) {
  for (uint64_t sequence : {1, 2, 3}) ASSERT_EQ(HandOver(sequence, 1), Handover::kAccepted);
  Store(ledger_, {taken_[2]});
  Store(ledger_, {taken_[1]});
  EXPECT_TRUE(stream_->acks.empty());
  Store(ledger_, {taken_[0]});
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{3});
}

TEST_F(AgentLedgerTest, WhatNoShardTookWasNeverAccepted) {
  room_ = 0;
  EXPECT_EQ(HandOver(1, 2), Handover::kFull);
  EXPECT_EQ(ledger_->accepted_sequence(), 0u);
  Reconnect();
  EXPECT_FALSE(ledger_->NoteArrival(1, 0));
  room_ = 2;
  EXPECT_EQ(HandOver(1, 2), Handover::kAccepted);
  Store(ledger_, taken_);
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{1});
}

TEST_F(AgentLedgerTest, TheNextStreamGoesOnWithTheFirstSliceThatWasNotTaken) {
  room_ = 1;
  EXPECT_EQ(HandOver(1, 3), Handover::kFull);
  EXPECT_EQ(ledger_->accepted_sequence(), 0u);
  Store(ledger_, {taken_[0]});
  Reconnect();
  EXPECT_FALSE(ledger_->NoteArrival(1, 0));
  room_ = 1;
  EXPECT_EQ(HandOver(1, 3), Handover::kFull);
  room_ = 1;
  EXPECT_EQ(HandOver(1, 3), Handover::kAccepted);
  EXPECT_TRUE(ledger_->NoteArrival(1, 0));
  EXPECT_THAT(indexes_, testing::ElementsAre(0, 1, 2));
  Store(ledger_, {taken_[1], taken_[2]});
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{1});
}

TEST_F(AgentLedgerTest, AReportThatTheAgentThrowsAwayHalfTakenBlocksNothing) {
  room_ = 1;
  EXPECT_EQ(HandOver(1, 3), Handover::kFull);
  Reconnect();
  room_ = 1;
  EXPECT_EQ(HandOver(2, 1), Handover::kAccepted);
  EXPECT_TRUE(ledger_->NoteArrival(1, 0)) << "the order of reports is that of their numbers";
  Store(ledger_, taken_);
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{2});
}

TEST_F(AgentLedgerTest, AReportThatComesAgainCutOtherwiseBlocksNothing) {
  room_ = 2;
  EXPECT_EQ(HandOver(1, 3), Handover::kFull);
  Reconnect();
  EXPECT_EQ(HandOver(1, 1), Handover::kAccepted);
  Store(ledger_, taken_);
  room_ = 1;
  EXPECT_EQ(HandOver(2, 1), Handover::kAccepted);
  Store(ledger_, {taken_.back()});
  EXPECT_EQ(stream_->acks.back(), 2u);
}

TEST_F(AgentLedgerTest, AStreamThatWasReplacedHandsOverNothing) {
  Reconnect();
  EXPECT_EQ(HandOver(streams_before_[0].get(), 1, 1), Handover::kDetached);
  EXPECT_TRUE(taken_.empty());
  EXPECT_EQ(HandOver(1, 1), Handover::kAccepted);
}

TEST(AgentRegistryTest, CommandsGoToTheConnectedAgentAlone) {
  SimClock clock;
  AgentRegistry registry({}, clock);
  wire::Command command;
  command.set_id(9);
  EXPECT_FALSE(registry.Send("node-1", command));
  auto stream = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect({"node-1", 7, "v"}, 0, stream));
  EXPECT_TRUE(registry.Send("node-1", command));
  EXPECT_FALSE(registry.Send("node-2", command));
  EXPECT_EQ(stream->commands, std::vector<uint64_t>{9});
  stream.reset();
  EXPECT_FALSE(registry.Send("node-1", command));
}

TEST_F(AgentLedgerTest, WhatWasAcceptedIsADuplicate) {
  ledger_ = std::make_shared<AgentLedger>("node-1", 7, 10);
  ledger_->Attach(stream_);
  EXPECT_TRUE(ledger_->NoteArrival(10, 0));
  EXPECT_FALSE(ledger_->NoteArrival(11, 5));
  EXPECT_EQ(ledger_->last_report_wall_ns(), 5);
  EXPECT_EQ(HandOver(11, 1), Handover::kAccepted);
  EXPECT_TRUE(ledger_->NoteArrival(11, 0));
  EXPECT_EQ(HandOver(11, 1), Handover::kAccepted);
  EXPECT_EQ(taken_.size(), 1u);
  EXPECT_FALSE(ledger_->NoteArrival(12, 0));
}

TEST_F(AgentLedgerTest, AfterALossNothingIsAcknowledgedUntilTheAgentSendsAgain) {
  EXPECT_FALSE(ledger_->Rewind());
  for (uint64_t sequence : {1, 2, 3}) HandOver(sequence, 1);
  Store(ledger_, {taken_[0]});
  ledger_->MarkLost(taken_[1]);
  Store(ledger_, {taken_[2]});
  EXPECT_EQ(ledger_->stored_sequence(), 1u);

  EXPECT_TRUE(ledger_->Rewind());
  EXPECT_THAT(stream_->closed, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("send again")));
  EXPECT_TRUE(ledger_->IsStale(taken_[2]));
  Reconnect();
  EXPECT_EQ(HandOver(2, 1), Handover::kAccepted);
  EXPECT_EQ(HandOver(3, 1), Handover::kAccepted);
  Store(ledger_, {taken_[2]});  // a late slice from before the rewind counts for nothing
  EXPECT_EQ(ledger_->stored_sequence(), 1u);
  Store(ledger_, {taken_[3], taken_[4]});
  EXPECT_EQ(ledger_->stored_sequence(), 3u);
}

TEST_F(AgentLedgerTest, WhatWasAcceptedBeforeTheLossStaysAcceptedHoweverOftenItRewinds) {
  for (uint64_t sequence : {1, 2, 3}) HandOver(sequence, 1);
  for (int time = 0; time < 3; ++time) {
    ledger_->MarkLost(taken_.back());
    EXPECT_TRUE(ledger_->Rewind());
    EXPECT_EQ(ledger_->accepted_sequence(), 2u);
    Reconnect();
    HandOver(3, 1);
  }
  EXPECT_FALSE(ledger_->IsStale(taken_[0]));
  Store(ledger_, {taken_[0], taken_[1]});
  EXPECT_EQ(ledger_->stored_sequence(), 2u);
  Store(ledger_, {taken_.back()});
  EXPECT_EQ(ledger_->stored_sequence(), 3u);
}

TEST_F(AgentLedgerTest, WhatAStreamHoldsWhenTheLedgerRewindsCannotOvertakeWhatIsSentAgain) {
  HandOver(1, 1);
  room_ = 1;
  EXPECT_EQ(HandOver(2, 2), Handover::kFull);
  ledger_->MarkLost(taken_[0]);
  EXPECT_TRUE(ledger_->Rewind());
  room_ = 1'000;
  EXPECT_EQ(HandOver(2, 2), Handover::kDetached);
  Reconnect();
  for (uint64_t sequence : {1, 2}) EXPECT_EQ(HandOver(sequence, sequence), Handover::kAccepted);
  Store(ledger_, {taken_.begin() + 2, taken_.end()});
  EXPECT_EQ(stream_->acks, std::vector<uint64_t>{2});
}

TEST(AgentRegistryTest, AReconnectKeepsTheLedgerAndClosesTheStreamBefore) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto first = std::make_shared<FakeStream>();
  auto second = std::make_shared<FakeStream>();
  const auto ledger = registry.Connect({"node-1", 7, "1.0"}, 0, first);
  ASSERT_OK(ledger);
  const auto again = registry.Connect({"node-1", 7, "1.0"}, 0, second);
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
  const auto before = registry.Connect({"node-1", 7, "1.0"}, 0, first);
  (*before)->HandOver(first.get(), 5, 1, [](size_t, const AgentLedger::Ticket&) { return true; });
  EXPECT_EQ((*before)->accepted_sequence(), 5u);
  const auto after = registry.Connect({"node-1", 8, "1.0"}, 0, second);
  EXPECT_EQ((*after)->accepted_sequence(), 0u);
  EXPECT_EQ(first->closed.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(registry.Find("node-1", 7), nullptr);
  EXPECT_EQ(registry.Find("node-1", 8), *after);
}

TEST(AgentRegistryTest, WhoConnectsHasTimeToReportOnce) {
  SimClock clock;
  AgentRegistry registry({.silent_after_ns = 8 * kNanosPerSecond}, clock);
  const auto is_silent = [&] { return registry.agents().front().silent; };
  std::shared_ptr<FakeStream> stream;
  uint64_t incarnation = 0;
  const auto start_again = [&] {
    stream = std::make_shared<FakeStream>();
    return *registry.Connect({"node-1", ++incarnation, "1.0"}, 0, stream);
  };
  for (int i = 0; i < 4; ++i) {
    start_again();
    EXPECT_EQ(is_silent(), i == 3) << i;
    clock.Advance(3 * kNanosPerSecond);
  }
  start_again()->NoteArrival(1, clock.WallNanos());
  const int64_t reported_wall_ns = clock.WallNanos();
  EXPECT_FALSE(is_silent());
  clock.Advance(60 * kNanosPerSecond);
  EXPECT_TRUE(is_silent());
  start_again();
  EXPECT_FALSE(is_silent()) << "it has reported since it was waited for";
  EXPECT_EQ(registry.agents().front().last_report_wall_ns, reported_wall_ns) << "another incarnation's";

  clock.Advance(2 * kNanosPerSecond);
  registry.SetSilentAfter(kNanosPerSecond);
  EXPECT_TRUE(is_silent()) << "settings have changed";
}

TEST(AgentRegistryTest, AgentsThatAreStartedAgainAreNoConflict) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  std::vector<std::shared_ptr<FakeStream>> half_dead;
  for (uint64_t incarnation = 1; incarnation < 20; ++incarnation) {
    half_dead.push_back(std::make_shared<FakeStream>());
    ASSERT_OK(registry.Connect({"node-1", incarnation, "1.0"}, 0, half_dead.back()));
    EXPECT_OK(half_dead.back()->closed);
    // The network blinks: the same agent once more.
    half_dead.push_back(std::make_shared<FakeStream>());
    ASSERT_OK(registry.Connect({"node-1", incarnation, "1.0"}, 0, half_dead.back()));
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
      ASSERT_OK(registry.Connect({"node-1", incarnation, "1.0"}, 0, stream));
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

// Its spool is found late: it says in between what the agent before it has left.
TEST(AgentRegistryTest, AnAgentThatSpeaksForTheOneBeforeItIsOne) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  std::vector<std::shared_ptr<FakeStream>> streams;  // half-dead: the collector hears of their ends late
  const auto connect = [&](uint64_t incarnation, uint64_t sender) {
    streams.push_back(std::make_shared<FakeStream>());
    ASSERT_OK(registry.Connect({"node-1", incarnation, "1.0", {}, sender}, 0, streams.back()));
  };
  connect(8, 0);
  for (const uint64_t former : {5, 6}) connect(former, 8);
  connect(8, 0);
  EXPECT_EQ(registry.TakeConflicts(), 0u);
  connect(9, 0);
  connect(5, 8);
  EXPECT_EQ(registry.TakeConflicts(), 1u) << "the other one of two that live, whatever it delivers";
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
  const auto ledger = registry.Connect({"node-1", 7, "1.0"}, 0, stream);
  clock.Advance(4 * kNanosPerSecond);
  (*ledger)->NoteArrival(1, clock.WallNanos());
  clock.Advance(AgentRegistryOptions().silent_after_ns);
  registry.ForgetGone();
  EXPECT_FALSE(registry.agents().at(0).silent);
  clock.Advance(1);
  ASSERT_EQ(registry.agents().size(), 1u);
  EXPECT_TRUE(registry.agents()[0].silent);
  EXPECT_TRUE(registry.agents()[0].connected);
}

TEST(AgentRegistryTest, TheLimitEvictsTheLongestGoneAndNeverTheConnected) {
  SimClock clock;
  AgentRegistryOptions options;
  options.max_agents = 2;
  AgentRegistry registry(options, clock);
  auto kept = std::make_shared<FakeStream>();
  auto gone = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect({"a", 1, ""}, 0, kept));
  ASSERT_OK(registry.Connect({"b", 1, ""}, 0, gone));
  auto third = std::make_shared<FakeStream>();
  EXPECT_EQ(registry.Connect({"c", 1, ""}, 0, third).status().code(), absl::StatusCode::kResourceExhausted);
  gone.reset();
  ASSERT_OK(registry.Connect({"c", 1, ""}, 0, third));
  EXPECT_NE(registry.Find("a", 1), nullptr);
  EXPECT_EQ(registry.Find("b", 1), nullptr);
}

TEST(AgentRegistryTest, AgentsThatAreLongGoneAreForgotten) {
  SimClock clock;
  AgentRegistry registry(AgentRegistryOptions(), clock);
  auto stream = std::make_shared<FakeStream>();
  ASSERT_OK(registry.Connect({"a", 1, ""}, 0, stream));
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
