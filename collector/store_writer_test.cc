#include "collector/store_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/unheard_stream.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPatience = 20 * kNanosPerSecond;

class StoreWriterTest : public testing::Test {
 protected:
  std::unique_ptr<StoreWriter> MakeWriter() {
    return std::make_unique<StoreWriter>(options_, store_, metrics_, [this] {
      EXPECT_TRUE(ledger_->Rewind());
      if (!rewound_.exchange(true)) first_rewind_.set_value();
    });
  }

  // Hands over a report of one slice, as the next stream of the agent does it.
  AgentLedger::Ticket Accept(uint64_t sequence) {
    AgentLedger::Ticket taken;
    ledger_->Attach(stream_);
    ledger_->HandOver(stream_.get(), sequence, 1, [&](size_t, AgentLedger::Ticket ticket) {
      taken = std::move(ticket);
      return true;
    });
    return taken;
  }

  LogItem Item(uint64_t sequence) {
    LogItem item;
    wire::CaptureInput& input = *item.entry.mutable_input();
    input.set_job("train");
    input.set_host("node-1");
    input.set_received_wall_ns(static_cast<int64_t>(sequence) * kNanosPerSecond);
    *input.mutable_report() = MakeHostReport(sequence, 0.5);
    item.ticket = Accept(sequence);
    input.set_carries_points(true);
    item.bytes = 100;
    return item;
  }

  static bool Eventually(const std::function<bool()>& holds) {
    const int64_t deadline = RealClock().MonotonicNanos() + kPatience;
    while (!holds()) {
      if (RealClock().MonotonicNanos() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  StoreWriterOptions options_;
  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  std::shared_ptr<AgentLedger> ledger_ = std::make_shared<AgentLedger>("node-1", 7, 0);
  std::shared_ptr<UnheardStream> stream_ = std::make_shared<UnheardStream>();
  std::atomic<bool> rewound_{false};
  std::promise<void> first_rewind_;
};

TEST_F(StoreWriterTest, WhatIsAcknowledgedIsStoredWithItsMark) {
  auto writer = MakeWriter();
  for (uint64_t sequence : {1, 2, 3}) ASSERT_TRUE(writer->Append(Item(sequence)));
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, 3, kPatience));
  EXPECT_OK(writer->Close());
  EXPECT_EQ(ledger_->stored_sequence(), 3u);
  EXPECT_EQ(store_.log().size(), 3u);
  EXPECT_EQ(store_.points().size(), 3u);
  EXPECT_EQ(store_.flushes(), 1);
  EXPECT_EQ(writer->reports_stored(), 3u);
}

TEST_F(StoreWriterTest, ManyEntriesShareAWrite) {
  options_.linger_ns = 200 * kNanosPerMilli;
  auto writer = MakeWriter();
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) ASSERT_TRUE(writer->Append(Item(sequence)));
  EXPECT_OK(writer->Close());
  EXPECT_EQ(store_.log().size(), 100u);
  EXPECT_LE(store_.writes(), 10);
}

TEST_F(StoreWriterTest, WhileTheStoreRefusesNothingIsAcknowledgedAndNothingBlocks) {
  options_.max_items = 4;
  options_.retry_ns = 10 * kNanosPerMilli;
  options_.full_wait_ns = 5 * kNanosPerSecond;
  store_.set_refuses(true);
  auto writer = MakeWriter();
  // One batch in the hands of the thread, then a full queue, then losses.
  uint64_t sequence = 0;
  while (writer->Append(Item(++sequence))) ASSERT_LT(sequence, 1'000u);
  EXPECT_FALSE(writer->healthy());
  EXPECT_EQ(ledger_->stored_sequence(), 0u);

  store_.set_refuses(false);
  first_rewind_.get_future().wait();
  EXPECT_TRUE(writer->healthy());
  // The lost report is new again, and what follows it is acknowledged as before.
  EXPECT_EQ(ledger_->accepted_sequence(), sequence - 1);
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, sequence - 1, kPatience));
  ASSERT_TRUE(writer->Append(Item(sequence)));
  EXPECT_OK(writer->Close());
  EXPECT_EQ(ledger_->stored_sequence(), sequence);
}

TEST_F(StoreWriterTest, WhatAStoreLosesThatIsSlowAndNeverFailsIsSentAgainAsWell) {
  options_.max_items = 4;
  options_.full_wait_ns = 1;
  store_.set_blocked(true);
  auto writer = MakeWriter();
  uint64_t sequence = 0;
  while (writer->Append(Item(++sequence))) ASSERT_LT(sequence, 1'000u);
  EXPECT_TRUE(writer->healthy());
  store_.set_blocked(false);
  ASSERT_EQ(first_rewind_.get_future().wait_for(std::chrono::nanoseconds(kPatience)), std::future_status::ready);
  EXPECT_EQ(ledger_->accepted_sequence(), sequence - 1);
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, sequence - 1, kPatience));
  ASSERT_TRUE(writer->Append(Item(sequence)));
  EXPECT_OK(writer->Close());
  EXPECT_EQ(ledger_->stored_sequence(), sequence);
}

TEST_F(StoreWriterTest, DamageIsToldFromADiskThatIsFull) {
  options_.retry_ns = kNanosPerMilli;
  auto writer = MakeWriter();
  store_.SetRefusal(absl::DataLossError("block checksum mismatch"));
  ASSERT_TRUE(writer->Append(Item(1)));
  ASSERT_TRUE(Eventually([&] { return !writer->healthy(); }));
  EXPECT_THAT(writer->Health(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("salvage with --repair")));
  store_.set_refuses(false);
  ASSERT_TRUE(Eventually([&] { return writer->Health().ok(); }));
}

TEST_F(StoreWriterTest, AWriteThatHangsIsWorkWithoutTurnsAndOneThatIsRefusedIsNot) {
  options_.retry_ns = kNanosPerMilli;
  options_.slow_write_ns = kNanosPerMilli;
  auto writer = MakeWriter();
  EXPECT_OK(writer->Health());
  store_.set_refuses(true);
  ASSERT_TRUE(writer->Append(Item(1)));
  ASSERT_TRUE(Eventually([&] { return !writer->healthy(); }));
  EXPECT_THAT(writer->Health(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full: no space left on device")));
  const uint64_t before = writer->progress().turns;
  EXPECT_TRUE(Eventually([&] { return writer->progress().turns >= before + 3; }));
  store_.set_refuses(false);
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, 1, kPatience));
  ASSERT_TRUE(Eventually([&] { return writer->Health().ok(); }));

  store_.set_blocked(true);
  ASSERT_TRUE(writer->Append(Item(2)));
  ASSERT_TRUE(Eventually([&] { return !writer->Health().ok(); }));
  EXPECT_THAT(writer->Health(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a write to the disk has been")));
  const uint64_t hanging = writer->progress().turns;
  EXPECT_TRUE(writer->progress().has_work);
  for (int look = 0; look < 1'000; ++look) std::this_thread::yield();
  EXPECT_EQ(writer->progress().turns, hanging);
  store_.set_blocked(false);
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, 2, kPatience));
  EXPECT_TRUE(Eventually([&] { return !writer->progress().has_work; }));
  EXPECT_OK(writer->Health());
}

}  // namespace
}  // namespace lockstep
