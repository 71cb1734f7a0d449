// Histories that cannot be opened, or of which a part cannot be read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "collector/store/values.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class CorruptionTest : public RocksStoreFixture {};

TEST_F(CorruptionTest, ALogChunkThatDoesNotDecodeIsNamedAndTheRestIsRead) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}}));
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 1)}}));
  Scribble(Family::kLog, "\x09junk");
  std::vector<int64_t> times;
  const absl::Status status = store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
    times.push_back(entry.watermark().wall_ns());
    return true;
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of job a: log chunk of unknown format 9")));
  EXPECT_THAT(times, ElementsAre(now() + 1));
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
}

TEST_F(CorruptionTest, PointsAndIncidentsThatDoNotDecodeAreSkippedAndCounted) {
  Open();
  WritePoints("a", {{now(), 1}, {now() + 100 * kNanosPerSecond, 2}});
  ASSERT_OK(store_->Flush());
  Scribble(Family::kChunks, "");
  EXPECT_THAT(PointsOf("a"), ElementsAre(Pair(_, 2)));
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2)));
  Scribble(Family::kIncidents, "\x01");
  EXPECT_EQ(store_->LoadIncidents().value().size(), 1u);
}

TEST_F(CorruptionTest, ACorruptIndexEntryDoesNotStopWriting) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}}));
  Scribble(Family::kJobs, "?");
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 1)}}));
  EXPECT_THAT(LogTimes("a"), ElementsAre(now() + 1));
}

class OpeningTest : public RocksStoreFixture {};

TEST_F(OpeningTest, AHeldDirectoryIsRefused) {
  Open();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is held by another process")));
}

TEST_F(OpeningTest, ANewerSchemaIsRefusedNamingBothVersionsAndLeftAsItIs) {
  Open();
  store_.reset();
  {
    auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, Family::kMeta, "schema_version", EncodeSchemaVersion(7));
    ASSERT_OK((*database)->Write(batch, true));
  }
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(OpenRocksStore(options_, clock_),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("has schema version 7, this program reads versions 1 to 2")));
  }
}

TEST_F(OpeningTest, AMissingParentOrAFileInThePlaceIsRefused) {
  options_.directory = (directory_.path() / "missing" / "history").string();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("missing is not a directory")));
  options_.directory = directory_.Write("file", "text").string();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it is not a directory")));
  options_.directory = "";
  EXPECT_THAT(OpenRocksStore(options_, clock_), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

}  // namespace
}  // namespace lockstep
