// History that has to go before its time: by the bytes of its kind, and on a disk that is full. What stays is the
// newest, without a gap, and what still holds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr uint64_t kKibibyte = 1'024;
constexpr uint64_t kMebibyte = kKibibyte * kKibibyte;
constexpr int64_t kMinute = 60 * kNanosPerSecond;

uint64_t BytesIn(const fs::path& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const uint64_t size = entry.file_size(error);
    bytes += error ? 0 : size;
  }
  return bytes;
}

// A disk that holds nothing but one directory. Its capacity may change at any time.
class SmallDisk final : public rocksdb::FileSystemWrapper {
 public:
  SmallDisk(fs::path directory, const std::atomic<uint64_t>& capacity)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), directory_(std::move(directory)), capacity_(capacity) {}
  const char* Name() const override { return "SmallDisk"; }

  uint64_t Free() const { return capacity_ - std::min<uint64_t>(capacity_, BytesIn(directory_)); }

  IOStatus GetFreeSpace(const std::string&, const IOOptions&, uint64_t* bytes, IODebugContext*) override {
    *bytes = Free();
    return IOStatus::OK();
  }
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override;

 private:
  const fs::path directory_;
  const std::atomic<uint64_t>& capacity_;
};

class SmallDiskFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SmallDiskFile(std::unique_ptr<rocksdb::FSWritableFile> file, const SmallDisk& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* debug) override {
    if (disk_.Free() < data.size()) return IOStatus::NoSpace("simulated");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* debug) override {
    if (disk_.Free() < data.size()) return IOStatus::NoSpace("simulated");
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }

 private:
  const SmallDisk& disk_;
};

IOStatus SmallDisk::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
  if (status.ok()) *file = std::make_unique<SmallDiskFile>(std::move(*file), *this);
  return status;
}

class HistoryTrimmerTest : public RocksStoreFixture {
 protected:
  HistoryTrimmerTest() {
    options_.write_buffer_bytes = 64 * kKibibyte;
    options_.max_wal_bytes = kMebibyte;
  }
  ~HistoryTrimmerTest() override { store_.reset(); }  // before its disk

  // Text that does not become smaller by compression.
  std::string Text(size_t bytes) {
    std::string text;
    while (text.size() < bytes) text.push_back(static_cast<char>('0' + random_.Below(64)));
    return text;
  }

  absl::Status WriteLog(size_t bytes) {
    wire::CaptureEntry entry;
    entry.mutable_reset()->set_job("a");
    entry.mutable_reset()->set_wall_ns(now());
    entry.mutable_reset()->set_why(Text(bytes));
    return store_->Write({.log = {entry}});
  }

  // An entry of that size at the beginning of each minute.
  void WriteLogMinutes(int minutes, size_t bytes) {
    for (int minute = 0; minute < minutes; ++minute) {
      ASSERT_OK(WriteLog(bytes));
      clock_.Advance(kMinute);
    }
  }

  std::vector<int64_t> LogMinutes() {
    std::vector<int64_t> minutes;
    EXPECT_OK(store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
      minutes.push_back((entry.reset().wall_ns() - start_) / kMinute);
      return true;
    }));
    return minutes;
  }

  // One minute of points and of their roll-ups, at three series.
  void WriteMinuteOfPoints() {
    StoreBatch batch;
    for (int64_t i = 0; i < 240; ++i) {
      for (const char* host : {"x", "y", "z"}) {
        batch.points.push_back({host, "gpu0", kGauge, now() + i * kNanosPerSecond / 4, random_.Gaussian()});
      }
    }
    ASSERT_OK(store_->Write(batch));
    clock_.Advance(kMinute);
  }

  void PutResolved(uint64_t id, size_t bytes) {
    wire::Incident incident = MakeIncident(id, now());
    incident.set_key(Text(bytes));
    ASSERT_OK(store_->PutIncident(incident));
    clock_.Advance(kMinute);
  }

  std::vector<uint64_t> IncidentIds() {
    std::vector<uint64_t> ids;
    const auto incidents = store_->LoadIncidents();
    EXPECT_OK(incidents);
    for (const wire::Incident& incident : *incidents) ids.push_back(incident.id());
    return ids;
  }

  uint64_t TableBytes(const std::string& kind) const {
    for (const auto& [name, bytes] : store_->stats().table_bytes) {
      if (name == kind) return bytes;
    }
    ADD_FAILURE() << kind;
    return 0;
  }

  uint64_t Removed(const std::string& kind, const std::string& cause) const {
    for (const RemovedHistory& removed : store_->stats().removed) {
      if (removed.kind == kind && removed.cause == cause) return removed.bytes;
    }
    ADD_FAILURE() << kind << cause;
    return 0;
  }

  void MakeRoom(int passes = 20) {
    for (int i = 0; i < passes; ++i) {
      report_ = store_->MakeRoom();
      EXPECT_OK(report_.status);
      clock_.Advance(kNanosPerSecond);
    }
  }

  // As RocksDB would do sooner or later.
  void MakeTables() { ASSERT_OK(store_->Compact()); }

  const int64_t start_ = now();
  Random random_{7};
  RoomReport report_;
};

TEST_F(HistoryTrimmerTest, PointsBeyondTheirBytesLeaveRollUps) {
  options_.max_chunk_bytes = 512 * kKibibyte;
  Open();
  for (int minute = 0; minute < 100; ++minute) WriteMinuteOfPoints();
  ASSERT_OK(store_->Flush());
  MakeTables();
  ASSERT_GT(TableBytes("chunks"), 512 * kKibibyte);
  MakeRoom();
  EXPECT_LE(TableBytes("chunks"), 512 * kKibibyte);
  EXPECT_GE(TableBytes("chunks"), 256 * kKibibyte) << "no more went than had to";
  EXPECT_GT(Removed("chunks", "bytes"), 0u);
  EXPECT_EQ(Removed("rollups", "bytes") + Removed("chunks", "disk") + Removed("chunks", "age"), 0u);
  const std::vector<Point> points = PointsOf("y");
  ASSERT_GT(points.size(), 1'000u);
  EXPECT_LT(points.front().first, start_ + kMinute) << "as a roll-up";
  EXPECT_EQ(points[1].first - points[0].first, kMinute);
  EXPECT_EQ(points.back().first - points[points.size() - 2].first, kNanosPerSecond / 4);
  for (size_t i = 1; i < points.size(); ++i) ASSERT_LE(points[i].first - points[i - 1].first, kMinute) << "no gap";
}

TEST_F(HistoryTrimmerTest, TheLogGoesByAgeButForWhatSamplesAreReadFromAfterACrash) {
  options_.log_retention_ns = 60 * kMinute;
  Open();
  ASSERT_NO_FATAL_FAILURE(WriteLogMinutes(200, 40 * kKibibyte));
  MakeTables();
  MakeRoom(1);
  const uint64_t left = TableBytes("log");
  EXPECT_GT(left, 60 * 20 * kKibibyte);
  EXPECT_GT(Removed("log", "age"), left);
  EXPECT_EQ(Removed("log", "bytes") + Removed("log", "disk"), 0u);
  EXPECT_EQ(LogMinutes().size(), 59u) << "what goes is hidden before";
  clock_.Advance(kNanosPerDay);
  MakeRoom(1);
  EXPECT_LT(TableBytes("log"), left / 4);
  EXPECT_GT(TableBytes("log"), 20 * kKibibyte);
}

TEST_F(HistoryTrimmerTest, RollUpsBeyondTheirBytesGoOldestFirst) {
  options_.max_rollup_bytes = 64 * kKibibyte;
  Open();
  for (int minute = 0; minute < 60; ++minute) {
    StoreBatch batch;
    for (int series = 0; series < 100; ++series) {
      batch.points.push_back({absl::StrCat("node", series), "gpu0", kGauge, now(), random_.Gaussian()});
    }
    ASSERT_OK(store_->Write(batch));
    clock_.Advance(kMinute);
  }
  ASSERT_OK(store_->Flush());
  MakeTables();
  ASSERT_GT(TableBytes("rollups"), 64 * kKibibyte);
  MakeRoom();
  EXPECT_LE(TableBytes("rollups"), 64 * kKibibyte);
  EXPECT_GT(Removed("rollups", "bytes"), 0u);
  EXPECT_EQ(Removed("chunks", "bytes"), 0u);
}

TEST_F(HistoryTrimmerTest, IncidentsBeyondTheirBytesGoButNotOpenOnesNorTheNewest) {
  options_.max_incident_bytes = 256 * kKibibyte;
  Open();
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  for (uint64_t id = 2; id <= 60; ++id) PutResolved(id, 8 * kKibibyte);
  MakeTables();
  ASSERT_GT(TableBytes("incidents"), 256 * kKibibyte);
  MakeRoom();
  EXPECT_LE(TableBytes("incidents"), 256 * kKibibyte);
  const std::vector<uint64_t> ids = IncidentIds();
  ASSERT_GT(ids.size(), 15u);
  EXPECT_EQ(ids.front(), 1u) << "it is open";
  EXPECT_GT(ids[1], 10u);
  EXPECT_EQ(ids.back(), 60u);
  EXPECT_EQ(ids.back() - ids[1], ids.size() - 2) << "no gap";
  EXPECT_GT(Removed("incidents", "bytes"), 0u);
}

TEST_F(HistoryTrimmerTest, SmallKindsHaveLimitsAsWell) {
  options_.max_mark_bytes = 64 * kKibibyte;
  options_.max_job_bytes = 64 * kKibibyte;
  options_.max_series_bytes = 64 * kKibibyte;
  options_.log_retention_ns = 30 * kNanosPerDay;
  Open();
  for (int round = 0; round < 20; ++round) {
    StoreBatch batch;
    for (int i = 0; i < 100; ++i) {
      const std::string name = Text(64);
      batch.marks.push_back({name, 1, 1});
      batch.log.push_back(Watermark(name, now()));
      batch.points.push_back({name, "gpu0", kGauge, now(), 1});
    }
    ASSERT_OK(store_->Write(batch));
    ASSERT_OK(store_->Flush());
    clock_.Advance(kNanosPerDay / 8);
  }
  ASSERT_OK(store_->Write({.marks = {{"newest", 1, 5}}}));
  clock_.Advance(2 * kNanosPerDay);  // names are in use for up to a day
  MakeTables();
  for (const char* kind : {"marks", "jobs", "series"}) ASSERT_GT(TableBytes(kind), 64 * kKibibyte) << kind;
  MakeRoom();
  for (const char* kind : {"marks", "jobs", "series"}) {
    EXPECT_LE(TableBytes(kind), 64 * kKibibyte) << kind;
    EXPECT_GT(Removed(kind, "bytes"), 0u) << kind;
  }
  EXPECT_EQ(store_->StoredSequence("newest", 1).value(), 5u);
}

// On a disk that is full: simulated, so that its size can change.
class SmallDiskTest : public HistoryTrimmerTest {
 protected:
  SmallDiskTest() {
    options_.env = env_.get();
    options_.reserve_bytes = kMebibyte;
  }
  ~SmallDiskTest() override { store_.reset(); }

  void LeaveFree(uint64_t bytes) { capacity_ = BytesIn(options_.directory) + bytes; }

  std::atomic<uint64_t> capacity_{1'000 * kMebibyte};
  const std::shared_ptr<SmallDisk> disk_ = std::make_shared<SmallDisk>(options_.directory, capacity_);
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
};

TEST_F(SmallDiskTest, TheOldestOfTheLogGoesFirstWhenSpaceGetsShort) {
  options_.min_free_bytes = 2 * kMebibyte;
  Open();
  MakeRoom(1);
  ASSERT_NO_FATAL_FAILURE(WriteLogMinutes(200, 40 * kKibibyte));
  for (int minute = 0; minute < 20; ++minute) WriteMinuteOfPoints();
  ASSERT_OK(store_->Flush());
  MakeTables();
  MakeRoom(1);
  EXPECT_FALSE(report_.disk_is_short);
  EXPECT_EQ(LogMinutes().size(), 200u);

  LeaveFree(kMebibyte);
  MakeRoom(3);
  EXPECT_GE(disk_->Free(), 2 * kMebibyte);
  const std::vector<int64_t> minutes = LogMinutes();
  EXPECT_GT(minutes.size(), 100u) << "no more went than had to";
  EXPECT_LT(minutes.size(), 190u);
  EXPECT_EQ(minutes.back(), 199);
  EXPECT_EQ(minutes.back() - minutes.front(), static_cast<int64_t>(minutes.size()) - 1) << "no gap";
  EXPECT_GT(Removed("log", "disk"), kMebibyte);
  for (const char* kind : {"chunks", "rollups", "incidents"}) EXPECT_EQ(Removed(kind, "disk"), 0u) << kind;
  MakeRoom(1);
  EXPECT_FALSE(report_.disk_is_short) << "it is over";
}

TEST_F(SmallDiskTest, OfTheLogStaysWhatSamplesAreReadFromAfterACrash) {
  options_.min_free_bytes = 2 * kMebibyte;
  Open();
  MakeRoom(1);
  ASSERT_NO_FATAL_FAILURE(WriteLogMinutes(100, 40 * kKibibyte));
  MakeTables();
  clock_.Advance(60 * kMinute);  // for so long nothing could be written
  for (int pass = 0; pass < 40; ++pass) {
    LeaveFree(kMebibyte);  // somebody else takes what is freed
    MakeRoom(1);
    clock_.Advance(10 * kMinute);
  }
  EXPECT_GT(Removed("log", "disk"), kMebibyte);
  const std::vector<int64_t> minutes = LogMinutes();
  ASSERT_FALSE(minutes.empty());
  EXPECT_EQ(minutes.back(), 99);
  EXPECT_LE(minutes.front(), 99 - kRecoverySpanNanos / kMinute);
}

TEST_F(SmallDiskTest, ThenPointsThenRollUpsThenResolvedIncidentsAndNothingThatHolds) {
  options_.min_free_bytes = 2 * kMebibyte;
  Open();
  MakeRoom(1);
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  wire::IncidentEvent event;
  *event.mutable_incident() = MakeIncident(2, now());
  ASSERT_OK(store_->PutEvent(event, {"receiver"}));
  for (uint64_t id = 3; id <= 40; ++id) PutResolved(id, 8 * kKibibyte);
  for (int minute = 0; minute < 100; ++minute) WriteMinuteOfPoints();
  ASSERT_OK(store_->Flush());
  clock_.Advance(20 * kMinute);
  MakeTables();
  ASSERT_EQ(Removed("chunks", "disk") + Removed("rollups", "disk") + Removed("incidents", "disk"), 0u);

  LeaveFree(2 * kMebibyte - 64 * kKibibyte);
  MakeRoom(1);
  EXPECT_GT(Removed("chunks", "disk"), 0u);
  EXPECT_EQ(Removed("rollups", "disk") + Removed("incidents", "disk"), 0u);
  EXPECT_EQ(IncidentIds().size(), 40u);

  LeaveFree(900 * kKibibyte);
  MakeRoom(100);
  for (const char* kind : {"rollups", "incidents"}) EXPECT_GT(Removed(kind, "disk"), 0u) << kind;
  EXPECT_TRUE(report_.disk_is_short) << "there is nothing left that may go";
  EXPECT_THAT(IncidentIds(), testing::ElementsAre(1, 40));
  EXPECT_EQ(store_->LoadAlerts()->size(), 1u);
}

TEST_F(SmallDiskTest, WhenNothingCanBeWrittenRoomIsMadeAndWritingGoesOn) {
  Open();
  MakeRoom(1);
  ASSERT_NO_FATAL_FAILURE(WriteLogMinutes(100, 40 * kKibibyte));
  MakeTables();
  LeaveFree(0);
  ASSERT_OK(WriteLog(40 * kKibibyte)) << "from the reserve";
  MakeRoom(1);
  EXPECT_TRUE(report_.disk_is_short);
  for (int i = 0; i < 50; ++i) ASSERT_OK(WriteLog(40 * kKibibyte)) << i;
  const std::vector<int64_t> minutes = LogMinutes();
  ASSERT_FALSE(minutes.empty());
  EXPECT_EQ(minutes.back(), 100);
  EXPECT_GT(Removed("log", "disk"), 0u);
}

TEST_F(SmallDiskTest, HistoryIsOpenedOnAFullDisk) {
  Open();
  MakeRoom(1);
  ASSERT_OK(WriteLog(40 * kKibibyte));
  store_.reset();
  LeaveFree(0);
  Open();
  EXPECT_EQ(LogMinutes().size(), 1u);
  store_.reset();
  options_.reserve_bytes = 0;
  LeaveFree(0);
  EXPECT_THAT(OpenRocksStore(options_, clock_), StatusIs(absl::StatusCode::kResourceExhausted, testing::_))
      << "without a reserve that is the end";
}

TEST_F(SmallDiskTest, WhereRemovingDoesNotHelpItIsDoneEverMoreRarely) {
  options_.min_free_bytes = 2 * kMebibyte;
  Open();
  MakeRoom(1);
  ASSERT_NO_FATAL_FAILURE(WriteLogMinutes(400, 20 * kKibibyte));
  MakeTables();
  int removals = 0;
  for (int second = 0; second < 60; ++second) {
    LeaveFree(kMebibyte);  // somebody else takes what is freed, or holds it
    const uint64_t before = Removed("log", "disk");
    MakeRoom(1);
    removals += Removed("log", "disk") > before ? 1 : 0;
  }
  EXPECT_GE(removals, 2);
  EXPECT_LE(removals, 7);
}

// The real thing: a file system of its own, small enough to be filled.
class TmpfsTest : public HistoryTrimmerTest {
 protected:
  void SetUp() override {
    fs::create_directory(mount_point_);
    if (mount("tmpfs", mount_point_.c_str(), "tmpfs", 0, "size=24m") != 0) {
      GTEST_SKIP() << "a tmpfs cannot be mounted: " << std::strerror(errno);
    }
    options_.directory = (mount_point_ / "history").string();
  }
  void TearDown() override {
    store_.reset();
    if (IsSkipped()) return;
    EXPECT_EQ(umount2(mount_point_.c_str(), MNT_DETACH), 0);
  }

  const fs::path mount_point_ = directory_.path() / "disk";
};

TEST_F(TmpfsTest, OnATmpfsThatIsFullWritingGoesOnWithTheNewest) {
  options_.reserve_bytes = 4 * kMebibyte;
  Open();
  MakeRoom(1);
  constexpr int kMinutes = 1'500;  // three times of what fits
  int short_passes = 0;
  for (int minute = 0; minute < kMinutes; ++minute) {
    ASSERT_OK(WriteLog(40 * kKibibyte)) << "minute " << minute;
    clock_.Advance(kMinute);
    if (minute % 5 != 0) continue;
    report_ = store_->MakeRoom();
    ASSERT_OK(report_.status);
    short_passes += report_.disk_is_short ? 1 : 0;
  }
  EXPECT_GT(short_passes, 0);
  const std::vector<int64_t> minutes = LogMinutes();
  EXPECT_GT(minutes.size(), 50u);
  EXPECT_EQ(minutes.back(), kMinutes - 1);
  EXPECT_EQ(minutes.back() - minutes.front(), static_cast<int64_t>(minutes.size()) - 1) << "no gap";
}

TEST_F(TmpfsTest, LimitsForALargeDiskDoNotKeepASmallOneShort) {
  options_.min_free_bytes = 256 * kMebibyte;
  options_.reserve_bytes = 96 * kMebibyte;
  Open();
  report_ = store_->MakeRoom();
  EXPECT_OK(report_.status);
  EXPECT_FALSE(report_.disk_is_short) << *report_.free_bytes;
}

}  // namespace
}  // namespace lockstep
