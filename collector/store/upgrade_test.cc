// History that version 0.1.0 wrote (schema 1) is read whole, upgraded once and written on; history of a newer schema is
// left byte for byte.
//
// testdata/history-0.1.0.tar was written by the store of 0.1.0: two lives of three batches each, of which the second
// ended without being closed, so that there are tables and a write-ahead log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/metric_catalog.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"
#include "collector/store/values.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/write_batch.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr int64_t kStart = SimClock::kStartWallNanos;

// Takes no log: what is written to one is what fails first on a full disk.
class RefusingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit RefusingFileSystem(rocksdb::IOStatus refusal)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), refusal_(std::move(refusal)) {}
  const char* Name() const override { return "RefusingFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    return absl::EndsWith(name, ".log") ? refusal_ : FileSystemWrapper::NewWritableFile(name, options, file, debug);
  }

 private:
  const rocksdb::IOStatus refusal_;
};

class UpgradeTest : public testing::Test {
 protected:
  std::vector<int64_t> LogSeconds(RocksStore& store, const std::string& job) {
    std::vector<int64_t> seconds;
    EXPECT_OK(store.ScanLog(job, 0, kForever, [&](const wire::CaptureEntry& entry) {
      seconds.push_back((entry.watermark().wall_ns() - kStart) / kNanosPerSecond);
      return true;
    }));
    return seconds;
  }

  void PutOldHistory() {
    ASSERT_TRUE(fs::create_directory(options_.directory));
    const std::string untar = "tar -xf collector/store/testdata/history-0.1.0.tar -C " + options_.directory;
    ASSERT_EQ(std::system(untar.c_str()), 0);
  }

  // Looked at as release 0.1.0 does, without writing: it refuses all but version 1. Empty = it is not there.
  std::string SchemaVersionBytes() const {
    std::vector<rocksdb::ColumnFamilyDescriptor> families = {{"default", {}}, {"meta", {}}};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::OpenForReadOnly({}, options_.directory, families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::string bytes;
    db->Get({}, handles[1], "schema_version", &bytes).PermitUncheckedError();
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    return bytes;
  }

  std::map<std::string, std::string> Bytes() const {
    std::map<std::string, std::string> bytes;
    for (const auto& entry : fs::directory_iterator(options_.directory)) {
      std::stringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      bytes[entry.path().filename()] = text.str();
    }
    return bytes;
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  // RocksDB reckons the age of the log's files by the time of the machine.
  RocksStoreOptions options_{.directory = (directory_.path() / "history").string(),
                             .log_retention_ns = 100 * 365 * kNanosPerDay};
};

TEST_F(UpgradeTest, HistoryOfTheFirstReleaseIsReadWholeAndWrittenOn) {
  PutOldHistory();
  for (int life = 0; life < 2; ++life) {
    const auto store = OpenRocksStore(options_, clock_);
    ASSERT_OK(store);
    if (life == 0) {
      EXPECT_THAT(LogSeconds(**store, "a"), ElementsAre(1, 2, 3, 4, 5, 6));
      EXPECT_THAT(LogSeconds(**store, "b"), ElementsAre(1, 2, 3, 4, 5, 6));
    }
    EXPECT_EQ((*store)->StoredSequence("node", 7).value(), 6u + life);
    const auto incidents = (*store)->LoadIncidents();
    ASSERT_OK(incidents);
    ASSERT_THAT(*incidents, SizeIs(2));
    EXPECT_NE((*incidents)[0].resolved_wall_ns(), 0);
    EXPECT_EQ((*incidents)[1].verdict().class_(), "compute_slow");
    const auto page = (*store)->ReadSeries({Metric::kGpuPowerWatts, "node", "*", 0, kForever, {}},
                                           {.max_series = 1, .max_points = 100});
    ASSERT_OK(page);
    ASSERT_THAT(page->ranges, SizeIs(1));
    ASSERT_THAT(page->ranges[0].points, SizeIs(6 + life));
    EXPECT_EQ(page->ranges[0].points[5].second, 106);
    if (life == 1) break;
    StoreBatch batch;
    batch.marks.push_back({"node", 7, 7});
    batch.points.push_back({"node", "gpu0", Metric::kGpuPowerWatts, kStart + 7 * kNanosPerSecond, 107});
    wire::CaptureWatermark& watermark = *batch.log.emplace_back().mutable_watermark();
    watermark.set_job("a");
    watermark.set_wall_ns(kStart + 7 * kNanosPerSecond);
    ASSERT_OK((*store)->Write(batch));
    ASSERT_OK((*store)->Flush());
    EXPECT_THAT(LogSeconds(**store, "a"), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  }
}

TEST_F(UpgradeTest, HistoryOfTheFirstReleaseIsUpgradedOnceSoThatThatReleaseRefusesIt) {
  PutOldHistory();
  EXPECT_EQ(SchemaVersionBytes(), EncodeSchemaVersion(1));
  for (int life = 0; life < 2; ++life) {
    ASSERT_OK(OpenRocksStore(options_, clock_));
    EXPECT_EQ(SchemaVersionBytes(), EncodeSchemaVersion(2));
  }
}

TEST_F(UpgradeTest, AnUpgradeThatTheDiskRefusesLeavesTheOldSchema) {
  PutOldHistory();
  const rocksdb::IOStatus refusal = rocksdb::IOStatus::NoSpace("injected");
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<RefusingFileSystem>(refusal));
  options_.env = env.get();
  EXPECT_THAT(OpenRocksStore(options_, clock_), StatusIs(absl::StatusCode::kResourceExhausted, _));
  options_.env = nullptr;
  EXPECT_EQ(SchemaVersionBytes(), EncodeSchemaVersion(1));
  ASSERT_OK(OpenRocksStore(options_, clock_));
  EXPECT_EQ(SchemaVersionBytes(), EncodeSchemaVersion(2));
}

TEST_F(UpgradeTest, NewHistoryIsOfTheNewSchema) {
  ASSERT_OK(OpenRocksStore(options_, clock_));
  EXPECT_EQ(SchemaVersionBytes(), EncodeSchemaVersion(2));
}

TEST_F(UpgradeTest, HistoryOfANewerSchemaIsRefusedInOneLineAndNotTouched) {
  {
    const auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, Family::kMeta, "schema_version", EncodeSchemaVersion(RocksDatabase::kSchemaVersion + 1));
    ASSERT_OK((*database)->Write(batch, /*sync=*/true));
  }
  const std::map<std::string, std::string> before = Bytes();
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(OpenRocksStore(options_, clock_),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("has schema version 3, this program reads versions 1 to 2")));
  }
  EXPECT_EQ(Bytes(), before);
}

}  // namespace
}  // namespace lockstep
