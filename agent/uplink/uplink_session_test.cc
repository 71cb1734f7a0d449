#include "agent/uplink/uplink_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/uplink/outbox.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

wire::AgentReport Report(const std::string& job = "job") {
  wire::AgentReport report;
  report.add_processes()->set_job(job);
  return report;
}

wire::AgentReport Parse(const Outbox::Entry& entry) {
  wire::AgentReport report;
  EXPECT_TRUE(report.ParseFromString(entry.bytes));
  return report;
}

TEST(OutboxTest, NumbersWithoutGapsAndForgetsWhatIsAcknowledged) {
  Outbox outbox({});
  for (int i = 0; i < 3; ++i) outbox.Add(Report(), i);
  EXPECT_EQ(Parse(*outbox.After(0)).sequence(), 1u);
  EXPECT_EQ(outbox.Acknowledge(2), 2u);
  EXPECT_EQ(outbox.After(0)->sequence, 3u);
  EXPECT_EQ(outbox.Acknowledge(99), 0u) << "a number that was never given";
  EXPECT_EQ(outbox.Acknowledge(3), 1u);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.bytes(), 0u);
}

TEST(OutboxTest, DropsTheOldestByBytesAndTellsTheNextReport) {
  OutboxLimits limits;
  limits.max_bytes = 250;
  Outbox outbox(limits);
  for (int i = 0; i < 3; ++i) outbox.Add(Report(std::string(100, 'x')), 0);
  EXPECT_EQ(outbox.After(0)->sequence, 2u);
  EXPECT_THAT(outbox.dropped(), ElementsAre(Pair("reports_outbox_full", 1)));
  outbox.Add(Report(), 0);
  const wire::AgentReport told = Parse(*outbox.After(3));
  ASSERT_EQ(told.dropped_size(), 1);
  EXPECT_EQ(told.dropped(0).reason(), "reports_outbox_full");
  EXPECT_EQ(told.dropped(0).count(), 1u);
}

TEST(OutboxTest, CountersThinOutBeforeReportsGo) {
  OutboxLimits limits;
  limits.max_bytes = 20'000;
  Outbox outbox(limits);
  wire::AgentReport report = Report();
  for (int i = 0; i < 10; ++i) report.add_metrics()->set_device(std::string(100, 'd'));
  for (int i = 0; i < 30; ++i) outbox.Add(report, 0);
  EXPECT_EQ(outbox.size(), 30u);
  EXPECT_TRUE(outbox.dropped().empty());
  EXPECT_LE(outbox.bytes(), limits.max_bytes);
  uint64_t kept = 0;
  uint64_t told = 0;
  for (uint64_t n = 0; n < 30; ++n) {
    const wire::AgentReport found = Parse(*outbox.After(n));
    kept += static_cast<uint64_t>(found.metrics_size());
    for (const wire::Dropped& dropped : found.dropped()) told += dropped.count();
  }
  EXPECT_EQ(kept + told, 300u);
  EXPECT_EQ(Parse(*outbox.After(29)).metrics_size(), 10) << "the newest stays whole";
}

TEST(OutboxTest, WhatIsOnDiskLeavesMemoryAndComesBackInOrder) {
  OutboxLimits limits;
  limits.max_bytes = 250;
  Outbox outbox(limits);
  for (uint64_t n = 1; n <= 5; ++n) {
    outbox.Add(Report(std::string(100, 'x')), 0);
    outbox.MarkOnDisk(n);
  }
  EXPECT_EQ(outbox.size(), 5u);
  EXPECT_TRUE(outbox.dropped().empty());
  EXPECT_EQ(outbox.After(0), nullptr);
  EXPECT_EQ(outbox.ToLoad(0), 0u);
  outbox.TakeLoaded(0, {{1, 0, "one", true}, {2, 0, "two", true}});
  EXPECT_EQ(outbox.After(0)->bytes, "one");
  EXPECT_EQ(outbox.ToLoad(2), 2u);
  outbox.DropRejected(2);
  EXPECT_EQ(outbox.ToLoad(1), 2u) << "what was refused is not read back";
  outbox.TakeLoaded(2, {{3, 0, "three", true}});
  EXPECT_EQ(outbox.After(1)->sequence, 3u);
  EXPECT_EQ(outbox.After(3)->sequence, 4u);
  EXPECT_EQ(outbox.ToLoad(3), absl::nullopt);
  EXPECT_EQ(outbox.Acknowledge(4), 3u);
  EXPECT_EQ(outbox.size(), 1u);
}

TEST(OutboxTest, WhatAnAgentBeforeHasLeftEndsWhereTheDiskHasNoMore) {
  Outbox outbox({}, 3, 6);
  EXPECT_EQ(outbox.size(), 4u);
  EXPECT_EQ(outbox.ToLoad(0), 2u);
  outbox.TakeLoaded(2, {{3, 0, "three", true}, {4, 0, "four", true}});
  EXPECT_EQ(outbox.ToLoad(4), 4u);
  outbox.TakeLoaded(4, {});
  EXPECT_EQ(outbox.size(), 2u);
  EXPECT_EQ(outbox.Acknowledge(4), 2u);
  EXPECT_TRUE(outbox.empty());
  Outbox broken({}, 1, 6);
  broken.DropUnreadable(0);
  EXPECT_TRUE(broken.empty());
  EXPECT_THAT(broken.dropped(), ElementsAre(Pair("reports_spool_unreadable", 6)));
}

TEST(OutboxTest, CountsOfALostReportAreToldAgain) {
  Outbox outbox({});
  wire::AgentReport report = Report();
  report.add_dropped()->set_reason("ring");
  report.mutable_dropped(0)->set_count(5);
  outbox.Add(report, 0);
  outbox.DropRejected(1);
  outbox.Add(Report(), 0);
  const wire::AgentReport told = Parse(*outbox.After(0));
  ASSERT_EQ(told.dropped_size(), 2);
  EXPECT_EQ(told.dropped(0).reason(), "reports_rejected");
  EXPECT_EQ(told.dropped(1).count(), 5u);
}

TEST(OutboxTest, DropsByAgeAndRefusesGiants) {
  OutboxLimits limits;
  limits.max_age_ns = 10;
  limits.max_report_bytes = 1000;
  Outbox outbox(limits);
  outbox.Add(Report(), 0);
  outbox.Add(Report(std::string(2000, 'x')), 1);
  EXPECT_EQ(outbox.newest_sequence(), 1u) << "a giant takes no number";
  outbox.Add(Report(), 20);
  EXPECT_EQ(outbox.size(), 1u);
  EXPECT_THAT(outbox.dropped(), ElementsAre(Pair("reports_expired", 1), Pair("reports_too_large", 1)));
}

class UplinkSessionTest : public ::testing::Test {
 protected:
  UplinkSessionTest() {
    for (int i = 0; i < 4; ++i) outbox_.Add(Report(), 0);
  }
  void Connect(uint64_t stored) {
    session_.OnConnected(0);
    EXPECT_TRUE(session_.OnHelloAck(stored, 0));
  }
  // Sends all that may be sent now; the numbers.
  std::vector<uint64_t> SendAll() {
    std::vector<uint64_t> sent;
    while (const Outbox::Entry* next = session_.NextToSend()) {
      sent.push_back(next->sequence);
      session_.OnSent(next->sequence, 0);
    }
    return sent;
  }

  Outbox outbox_{OutboxLimits{}};
  UplinkSession session_{outbox_};
};

TEST_F(UplinkSessionTest, ResendsWhatWasNotStored) {
  EXPECT_EQ(session_.NextToSend(), nullptr);
  Connect(0);
  EXPECT_THAT(SendAll(), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(session_.OnAck(1, 0));
  session_.OnDisconnected(absl::UnavailableError("gone"));
  Connect(2);
  EXPECT_THAT(SendAll(), ElementsAre(3, 4));
  EXPECT_TRUE(session_.OnAck(4, 0));
  EXPECT_TRUE(session_.idle());
}

TEST_F(UplinkSessionTest, FindsAndDropsExactlyTheRefusedReport) {
  Connect(0);
  EXPECT_THAT(SendAll(), ElementsAre(1, 2, 3, 4));
  session_.OnDisconnected(absl::InvalidArgumentError("report 2"));
  Connect(0);
  EXPECT_THAT(SendAll(), ElementsAre(1)) << "probation: one at a time";
  EXPECT_TRUE(session_.OnAck(1, 0));
  EXPECT_THAT(SendAll(), ElementsAre(2));
  session_.OnDisconnected(absl::InvalidArgumentError("report 2"));
  Connect(1);
  EXPECT_THAT(SendAll(), ElementsAre(3));
  EXPECT_TRUE(session_.OnAck(3, 0));
  EXPECT_THAT(SendAll(), ElementsAre(4));
  EXPECT_TRUE(session_.OnAck(4, 0));
  EXPECT_THAT(outbox_.dropped(), ElementsAre(Pair("reports_rejected", 1)));
}

TEST_F(UplinkSessionTest, AnswersOutOfTurnAreNotBelieved) {
  session_.OnConnected(0);
  EXPECT_FALSE(session_.OnAck(1, 0)) << "before the greeting";
  EXPECT_TRUE(session_.OnHelloAck(0, 0));
  EXPECT_FALSE(session_.OnHelloAck(0, 0)) << "twice";
  EXPECT_FALSE(session_.OnAck(5, 0)) << "never sent";
  EXPECT_EQ(outbox_.size(), 4u);
}

TEST_F(UplinkSessionTest, SilenceIsAStallOnlyWhileAnAnswerIsDue) {
  session_.OnConnected(0);
  EXPECT_TRUE(session_.IsStalled(UplinkSession::kAckTimeoutNanos + 1));
  session_.OnHelloAck(0, 0);
  EXPECT_FALSE(session_.IsStalled(UplinkSession::kAckTimeoutNanos + 1));
  SendAll();
  EXPECT_TRUE(session_.IsStalled(UplinkSession::kAckTimeoutNanos + 1));
  session_.OnAck(4, 0);
  EXPECT_FALSE(session_.IsStalled(2 * UplinkSession::kAckTimeoutNanos));
}

}  // namespace
}  // namespace lockstep
