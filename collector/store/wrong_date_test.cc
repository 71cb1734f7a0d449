// What a date that is wrong does to history: nothing. Nobody can tell it from a collector that was away.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/families.h"
#include "collector/store/history_store.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr int64_t kMinute = 60 * kNanosPerSecond;
constexpr int64_t kAway = 400 * kNanosPerDay;  // longer than anything is kept

class DateTest : public RocksStoreFixture {
 protected:
  void WriteSome() {
    const int64_t at = now();
    ASSERT_OK(store_->Write({.log = {Watermark("a", at)}, .marks = {{"node", 1, 5}}}));
    WritePoints("node", {{at, 10}, {at + 1, 20}});
    ASSERT_OK(store_->PutIncident(MakeIncident(next_incident_++, at)));
    ASSERT_OK(store_->Flush());
    written_.push_back(at);
  }

  // As RocksDB and the collector would in the end.
  void Remove() {
    ASSERT_OK(store_->Compact());
    clock_.Advance(kMinute);
    ASSERT_OK(store_->MakeRoom().status);
  }

  void ExpectAll() {
    EXPECT_THAT(LogTimes("a"), ElementsAreArray(written_));
    EXPECT_EQ(store_->StoredSequence("node", 1).value(), 5u);
    EXPECT_EQ(PointsOf("node").size(), 2 * written_.size());
    EXPECT_EQ(store_->LoadIncidents()->size(), written_.size());
    EXPECT_EQ(RemovedByAge(), 0u);
  }

  uint64_t RemovedByAge() const {
    uint64_t records = 0;
    for (const RemovedHistory& removed : store_->stats().removed) {
      records += removed.cause == "age" ? removed.records : 0;
    }
    return records;
  }

  uint64_t next_incident_ = 1;
  std::vector<int64_t> written_;
};

TEST_F(DateTest, OneThatIsWrongAtTheStartDeletesNothing) {
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  clock_.Advance(kMinute);
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  store_.reset();
  clock_.Advance(kAway);
  {
    // Compactions begin before it is known what is there.
    const auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    ASSERT_OK((*database)->CompactAll());
  }
  Open();
  ASSERT_NO_FATAL_FAILURE(Remove());
  ExpectAll();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  Open();
  ASSERT_NO_FATAL_FAILURE(Remove());
  ExpectAll();
  EXPECT_EQ(written_.size(), 3u) << "the pause is known to later lives";
}

TEST_F(DateTest, OneThatWasWrongInALifeThatWroteNothingIsForgotten) {
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  clock_.Advance(kAway);
  Open();
  ASSERT_OK(store_->PutHosts({{"node", 0}}));
  ASSERT_NO_FATAL_FAILURE(Remove());
  clock_.Advance(2 * kNanosPerHour - kAway);
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  Open();
  ASSERT_NO_FATAL_FAILURE(Remove());
  ExpectAll();
  clock_.Advance(options_.log_retention_ns - kNanosPerHour);
  EXPECT_EQ(LogTimes("a").size(), 2u) << "the two hours age nothing";
  clock_.Advance(kNanosPerHour);
  EXPECT_THAT(LogTimes("a"), IsEmpty());
}

TEST_F(DateTest, WhatIsFromBeforeALongPauseGoesInTheEnd) {
  options_.write_buffer_bytes = size_t{64} << 10;
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  clock_.Advance(kAway);
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  clock_.Advance(options_.rollup_retention_ns + 2 * kNanosPerDay);
  ASSERT_NO_FATAL_FAILURE(WriteSome());
  Open();  // so that each time is in tables of its own
  ASSERT_NO_FATAL_FAILURE(Remove());
  EXPECT_THAT(LogTimes("a"), ElementsAre(written_.back()));
  EXPECT_EQ(PointsOf("node").size(), 2u);
  EXPECT_EQ(store_->LoadIncidents()->size(), 3u) << "they are kept for a year";
  EXPECT_GT(RemovedByAge(), 0u);
}

// RocksDB's own idea of the date.
class DatedEnv final : public rocksdb::EnvWrapper {
 public:
  DatedEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    const rocksdb::Status status = EnvWrapper::GetCurrentTime(seconds);
    *seconds += ahead_seconds;
    return status;
  }

  std::atomic<int64_t> ahead_seconds{0};
};

TEST_F(DateTest, OneThatIsSetWhileItRunsTakesNothingOfTheLog) {
  DatedEnv env;
  FamilyState state;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(DatabaseOptions(options_, env, state), options_.directory,
                                FamilyDescriptors(options_, clock_, state), &handles, &opened)
                  .ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* const log = handles[static_cast<size_t>(Family::kLog)];
  uint64_t number = 0;
  for (const int64_t ahead_ns : {int64_t{0}, kAway}) {
    env.ahead_seconds = ahead_ns / kNanosPerSecond;
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), log, EncodeTimedKey({1, now(), ++number}), "chunk").ok());
    ASSERT_TRUE(db->Flush(rocksdb::FlushOptions(), log).ok());
  }
  ASSERT_TRUE(db->CompactRange(rocksdb::CompactRangeOptions(), log, nullptr, nullptr).ok());
  ASSERT_TRUE(db->PauseBackgroundWork().ok()) << "waits for what is being deleted just now";
  std::string value;
  EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), log, EncodeTimedKey({1, now(), 1}), &value).ok());
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
}

}  // namespace
}  // namespace lockstep
