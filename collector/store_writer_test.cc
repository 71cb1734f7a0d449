#include "collector/store_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kPatience = 20 * kNanosPerSecond;

class StoreWriterTest : public testing::Test {
 protected:
  std::unique_ptr<StoreWriter> MakeWriter() {
    return std::make_unique<StoreWriter>(options_, store_, metrics_, [this] {
      ledger_->Rewind();
      recovered_.set_value();
    });
  }

  LogItem Item(uint64_t sequence) {
    LogItem item;
    wire::CaptureInput& input = *item.entry.mutable_input();
    input.set_job("train");
    input.set_host("node-1");
    input.set_received_wall_ns(static_cast<int64_t>(sequence) * kNanosPerSecond);
    *input.mutable_report() = MakeHostReport(sequence, 0.5);
    item.ticket = {ledger_, sequence, ledger_->Accept(sequence, 1, 0).value_or(0)};
    input.set_carries_points(true);
    item.bytes = 100;
    return item;
  }

  StoreWriterOptions options_;
  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  std::shared_ptr<AgentLedger> ledger_ = std::make_shared<AgentLedger>("node-1", 7, 0);
  std::promise<void> recovered_;
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
  recovered_.get_future().wait();
  EXPECT_TRUE(writer->healthy());
  // The lost report is new again, and what follows it is acknowledged as before.
  const uint64_t stored = ledger_->stored_sequence();
  EXPECT_LT(stored, sequence);
  EXPECT_EQ(ledger_->accepted_sequence(), stored);
  while (!writer->Append(Item(stored + 1))) {
  }
  EXPECT_OK(writer->Close());
  EXPECT_EQ(ledger_->stored_sequence(), stored + 1);
}

TEST_F(StoreWriterTest, QuestionsAreAnsweredEvenWhileTheStoreRefusesWrites) {
  options_.retry_ns = 60 * kNanosPerSecond;
  auto writer = MakeWriter();
  ASSERT_TRUE(writer->Append(Item(1)));
  ASSERT_TRUE(store_.WaitForMark("node-1", 7, 1, kPatience));
  store_.set_refuses(true);
  ASSERT_TRUE(writer->Append(Item(2)));
  std::promise<uint64_t> answer;
  writer->LookUpStored("node-1", 7, [&](absl::StatusOr<uint64_t> stored) { answer.set_value(stored.value_or(99)); });
  EXPECT_EQ(answer.get_future().get(), 1u);
  EXPECT_OK(writer->Close());
  absl::Status refused;
  writer->LookUpStored("node-1", 7, [&](absl::StatusOr<uint64_t> stored) { refused = stored.status(); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace lockstep
