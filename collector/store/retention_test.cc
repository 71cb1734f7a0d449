// What history forgets, and what it never does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMinute = 60 * kNanosPerSecond;

class RetentionTest : public RocksStoreFixture {
 protected:
  uint64_t RemovedRecords(const std::string& cause) const {
    uint64_t records = 0;
    for (const RemovedHistory& removed : store_->stats().removed)
      records += removed.cause == cause ? removed.records : 0;
    return records;
  }
};

TEST_F(RetentionTest, ReadersDoNotSeeWhatHasExpiredBeforeAnyCompaction) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}, .marks = {{"node", 1, 5}}}));
  clock_.Advance(options_.log_retention_ns + 1);
  EXPECT_THAT(LogTimes("a"), IsEmpty());
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 5u);
  clock_.Advance(options_.mark_retention_ns);
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 0u);
}

TEST_F(RetentionTest, RollUpsTakeOverWherePointsHaveExpired) {
  Open();
  const int64_t start = now();
  WritePoints("node", {{start, 10}, {start + 1, 20}});
  WritePoints("node", {{start, 100}, {start + 1, 200}}, Metric::kGpuPcieReplaysTotal);
  ASSERT_OK(store_->Flush());
  clock_.Advance(options_.chunk_retention_ns + 2);
  EXPECT_THAT(PointsOf("node"), ElementsAre(Pair(start, 15))) << "the mean of a gauge";
  EXPECT_THAT(PointsOf("node", Metric::kGpuPcieReplaysTotal), ElementsAre(Pair(start, 100))) << "a counter as read";
  clock_.Advance(options_.rollup_retention_ns);
  EXPECT_THAT(PointsOf("node"), IsEmpty());
}

TEST_F(RetentionTest, CompactionRemovesWhatHasExpiredAndNothingElse) {
  Open();
  WritePoints("old", {{now(), 1}});
  ASSERT_OK(store_->Write({.marks = {{"old", 1, 5}}}));
  ASSERT_OK(store_->Flush());
  clock_.Advance(options_.rollup_retention_ns + kNanosPerDay + kNanosPerHour);
  WritePoints("new", {{now(), 2}});
  ASSERT_OK(store_->Write({.marks = {{"new", 1, 6}}}));
  ASSERT_OK(store_->Flush());
  ASSERT_OK(store_->Compact());
  EXPECT_EQ(RemovedRecords("age"), 4u) << "a mark, a series, a chunk and a roll-up";
  EXPECT_THAT(PointsOf("new"), ElementsAre(Pair(now(), 2)));
  EXPECT_EQ(store_->StoredSequence("new", 1).value(), 6u);
}

TEST_F(RetentionTest, OpenIncidentsAndTheNewestIdNeverExpire) {
  Open();
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2, now())));
  ASSERT_OK(store_->PutIncident(MakeIncident(3, now())));
  clock_.Advance(options_.incident_retention_ns + kNanosPerHour);
  for (int round = 0; round < 2; ++round) {
    const auto incidents = store_->LoadIncidents();
    ASSERT_OK(incidents);
    ASSERT_EQ(incidents->size(), 2u);
    EXPECT_EQ((*incidents)[0].id(), 1u);
    EXPECT_EQ((*incidents)[1].id(), 3u);
    ASSERT_OK(store_->Compact());
  }
  EXPECT_EQ(RemovedRecords("age"), 1u);
}

// A log of 1 MiB at most.
class LogBytesTest : public RetentionTest {
 protected:
  LogBytesTest() {
    options_.write_buffer_bytes = size_t{256} << 10;
    options_.max_log_bytes = uint64_t{1} << 20;
  }

  // Of 40 kB that do not become much smaller by compression.
  void WriteEntries(int entries, int64_t distance_ns) {
    for (int i = 0; i < entries; ++i) {
      clock_.Advance(distance_ns);
      wire::CaptureEntry entry;
      entry.mutable_reset()->set_job("a");
      entry.mutable_reset()->set_wall_ns(now());
      std::string& text = *entry.mutable_reset()->mutable_why();
      while (text.size() < 40'000) text.push_back(static_cast<char>('0' + (state_ = state_ * 48271 % 2147483647) % 64));
      ASSERT_OK(store_->Write({.log = {entry}}));
    }
    ASSERT_OK(store_->Compact());
  }

  std::vector<int64_t> Times() {
    std::vector<int64_t> times;
    EXPECT_OK(store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
      times.push_back(entry.reset().wall_ns());
      return true;
    }));
    return times;
  }

  uint64_t state_ = 1;
};

TEST_F(LogBytesTest, TheLogIsCappedOldestFirstAndWhatIsDeletedIsCounted) {
  constexpr uint64_t kEntries = 200;
  Open();
  WriteEntries(kEntries, kMinute);
  std::vector<int64_t> times = Times();
  // A pass leaves alone what RocksDB is about to delete by itself, and the next one goes on.
  for (int pass = 0; pass < 1'000 && times.size() >= 40; ++pass) {
    ASSERT_OK(store_->MakeRoom().status);
    times = Times();
  }
  // RocksDB may remove one more table while this reads: both are of one moment a little later.
  for (int i = 0; i < 1'000 && RemovedRecords("bytes") != kEntries - times.size(); ++i) times = Times();
  EXPECT_EQ(RemovedRecords("bytes"), kEntries - times.size());
  ASSERT_GT(times.size(), 0u);
  EXPECT_LT(times.size(), 40u);
  EXPECT_EQ(times.back(), now());
  EXPECT_EQ(now() - times.front(), static_cast<int64_t>(times.size() - 1) * kMinute) << "no gap";
}

TEST_F(LogBytesTest, WhatSamplesAreReadFromAfterACrashStaysBeyondThem) {
  Open();
  WriteEntries(60, kNanosPerSecond);
  ASSERT_OK(store_->MakeRoom().status);
  EXPECT_EQ(Times().size(), 60u) << "more than the bytes, within two minutes";
  EXPECT_EQ(RemovedRecords("bytes"), 0u);
}

}  // namespace
}  // namespace lockstep
