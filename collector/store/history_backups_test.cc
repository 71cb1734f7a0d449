// Backups of a history on disk that is written meanwhile: what is in them, what is left of those that failed, and that
// nothing else in their directory is touched.

#include "collector/store/history_backups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/history_store.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// A file system on which files cannot be linked or made below a place that is `full`, as where that is another disk.
class OtherDisk final : public rocksdb::FileSystemWrapper {
 public:
  OtherDisk(std::string place, const std::atomic<bool>& full, std::atomic<int>& copies)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), place_(std::move(place)), full_(full), copies_(copies) {}
  const char* Name() const override { return "OtherDisk"; }

  rocksdb::IOStatus LinkFile(const std::string& /*from*/, const std::string& /*to*/,
                             const rocksdb::IOOptions& /*options*/, rocksdb::IODebugContext* /*debug*/) override {
    return rocksdb::IOStatus::NotSupported("no links between disks");
  }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    if (name.starts_with(place_)) {
      ++copies_;
      if (full_ && name.ends_with(".sst")) return rocksdb::IOStatus::NoSpace("injected");
    }
    return FileSystemWrapper::NewWritableFile(name, options, file, debug);
  }

 private:
  const std::string place_;
  const std::atomic<bool>& full_;
  std::atomic<int>& copies_;
};

class HistoryBackupsTest : public testing::Test {
 protected:
  void SetUp() override { store_ = Open(directory_.path() / "history"); }

  std::unique_ptr<RocksStore> Open(const fs::path& path, rocksdb::Env* env = nullptr) {
    auto store = OpenRocksStore({.directory = path.string(), .env = env}, clock_);
    EXPECT_OK(store);
    return store.ok() ? *std::move(store) : nullptr;
  }

  HistoryBackups Backups(size_t keep = 7, uint64_t max_bytes = uint64_t{1} << 40) {
    return HistoryBackups({.directory = place_.string(), .keep = keep, .max_bytes = max_bytes}, *store_, clock_);
  }

  // Entry n of the log of job "a", mark n, sample n and incident n.
  void Write(uint64_t n) {
    StoreBatch batch;
    wire::CaptureWatermark& watermark = *batch.log.emplace_back().mutable_watermark();
    watermark.set_job("a");
    watermark.set_wall_ns(TimeOf(n));
    batch.marks.push_back({"node", 1, n});
    batch.points.push_back({"node", "gpu0", Metric::kGpuPowerWatts, TimeOf(n), static_cast<double>(n)});
    ASSERT_OK(store_->Write(batch));
    wire::Incident incident;
    incident.set_id(n);
    ASSERT_OK(store_->PutIncident(incident));
  }
  static int64_t TimeOf(uint64_t n) { return SimClock::kStartWallNanos + static_cast<int64_t>(n) * kNanosPerMilli; }

  // Everything from 1 to `count`, at least, and nothing in parts.
  void ExpectHolds(RocksStore& store, uint64_t count) {
    uint64_t logged = 0;
    EXPECT_OK(store.ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
      EXPECT_EQ(entry.watermark().wall_ns(), TimeOf(++logged));
      return true;
    }));
    EXPECT_GE(logged, count);
    EXPECT_EQ(store.StoredSequence("node", 1).value(), logged);
    const auto incidents = store.LoadIncidents();
    ASSERT_OK(incidents);
    EXPECT_GE(incidents->size(), count);
    EXPECT_LE(incidents->size(), logged);
    const auto page = store.ReadSeries({Metric::kGpuPowerWatts, "node", "*", 0, kForever, {}},
                                       {.max_series = 1, .max_points = 1'000'000});
    ASSERT_OK(page);
    ASSERT_THAT(page->ranges, SizeIs(1));
    EXPECT_GE(page->ranges[0].points.size(), count) << "also those that had waited in memory";
  }

  std::vector<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(place_)) names.insert(entry.path().filename().string());
    return {names.begin(), names.end()};
  }

  TemporaryDirectory directory_;
  const fs::path place_ = directory_.path() / "backups";
  SimClock clock_;
  std::atomic<bool> full_{false};
  std::atomic<int> copies_{0};
  // RocksDB shares the file system between its parts: it wants a shared_ptr.
  const std::unique_ptr<rocksdb::Env> other_disk_ =
      rocksdb::NewCompositeEnv(std::make_shared<OtherDisk>(place_.string(), full_, copies_));
  std::unique_ptr<RocksStore> store_;
};

TEST_F(HistoryBackupsTest, HoldsWhatWasAcknowledgedBeforeItWhileOthersWrite) {
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    for (uint64_t n = 1; !enough; ++n) {
      Write(n);
      acknowledged = n;
    }
  });
  HistoryBackups backups = Backups();
  std::vector<std::pair<std::string, uint64_t>> taken;
  for (int i = 0; i < 5; ++i) {
    while (acknowledged < 20u * (i + 1)) std::this_thread::yield();
    const uint64_t before = acknowledged;
    const absl::StatusOr<std::string> backup = backups.Take();
    ASSERT_OK(backup);
    taken.emplace_back(*backup, before);
    clock_.Advance(kNanosPerSecond);
  }
  enough = true;
  writer.join();
  for (const auto& [backup, before] : taken) {
    // As the manual says: a copy of the directory is a data directory.
    const fs::path restored = directory_.path() / "restored";
    fs::remove_all(restored);
    fs::copy(backup, restored, fs::copy_options::recursive);
    ExpectHolds(*Open(restored), before);
  }
}

TEST_F(HistoryBackupsTest, AreNamedByTheirSecondAndTheOldestLeave) {
  ASSERT_TRUE(fs::create_directory(place_));
  ASSERT_TRUE(fs::create_directory(place_ / "history-of-mine"));
  ASSERT_TRUE(fs::create_directory(place_ / "history-20200101T000000Z.tmp"));  // of one that was killed
  ASSERT_TRUE(fs::create_directory(place_ / "other.tmp"));
  HistoryBackups backups = Backups(/*keep=*/2);
  std::vector<std::string> taken;
  for (uint64_t n = 1; n <= 3; ++n) {
    Write(n);
    const absl::StatusOr<std::string> backup = backups.Take();
    ASSERT_OK(backup);
    taken.push_back(fs::path(*backup).filename());
    EXPECT_THAT(taken.back(), testing::MatchesRegex("history-[0-9]{8}T[0-9]{6}Z"));
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_THAT(Names(), ElementsAre(taken[1], taken[2], "history-of-mine", "other.tmp"));
  clock_.Advance(-3600 * kNanosPerSecond);
  const absl::StatusOr<std::string> earlier = backups.Take();
  ASSERT_OK(earlier);
  EXPECT_THAT(Names(), ElementsAre(fs::path(*earlier).filename().string(), taken[2], "history-of-mine", "other.tmp"))
      << "a clock that was set back does not make the newest the oldest";
}

TEST_F(HistoryBackupsTest, TheOldestLeaveWhenAllTogetherTakeTooMuchAndWhatTheyShareCountsOnce) {
  StoreBatch batch;
  wire::CaptureReset& reset = *batch.log.emplace_back().mutable_reset();
  reset.set_job("large");
  reset.set_wall_ns(TimeOf(1));
  Random random(1);
  while (reset.why().size() < (size_t{4} << 20)) {
    reset.mutable_why()->push_back(static_cast<char>('0' + random.Below(64)));
  }
  ASSERT_OK(store_->Write(batch));
  HistoryBackups large = Backups(/*keep=*/7, /*max_bytes=*/uint64_t{5} << 20);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(large.Take());
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_THAT(Names(), SizeIs(3)) << "each is 3 MiB, all have the same table";
  HistoryBackups small = Backups(/*keep=*/7, /*max_bytes=*/1);
  const absl::StatusOr<std::string> newest = small.Take();
  ASSERT_OK(newest);
  EXPECT_THAT(Names(), ElementsAre(fs::path(*newest).filename().string())) << "the newest stays in any case";
}

TEST_F(HistoryBackupsTest, WhatCannotBeIsOneErrorAndLeavesAllAsItIs) {
  Write(1);
  EXPECT_THAT(HistoryBackups({}, *store_, clock_).Take(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("set backup.directory")));
  const std::string no_parent = directory_.path() / "absent" / "backups";
  EXPECT_THAT(HistoryBackups({.directory = no_parent}, *store_, clock_).Take(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cannot keep backups in " + no_parent)));
  HistoryBackups backups = Backups();
  const absl::StatusOr<std::string> first = backups.Take();
  ASSERT_OK(first);
  EXPECT_THAT(backups.Take(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("there is a backup " + *first + " already")));
  ExpectHolds(*Open(*first), 1);
  Write(2);
  ExpectHolds(*store_, 2);
}

TEST_F(HistoryBackupsTest, AFullDiskOfBackupsLeavesNoHalfOneAndHistoryGoesOn) {
  store_.reset();
  store_ = Open(directory_.path() / "history", other_disk_.get());
  full_ = true;
  Write(1);
  HistoryBackups backups = Backups(/*keep=*/1);
  EXPECT_THAT(backups.Take(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(place_.string())));
  EXPECT_THAT(Names(), SizeIs(0));
  EXPECT_GT(copies_, 0);
  Write(2);
  full_ = false;
  const absl::StatusOr<std::string> whole = backups.Take();
  ASSERT_OK(whole);
  ExpectHolds(*Open(*whole), 2);
  clock_.Advance(kNanosPerSecond);
  full_ = true;
  EXPECT_FALSE(backups.Take().ok());
  EXPECT_THAT(Names(), ElementsAre(fs::path(*whole).filename().string()))
      << "the old one stays until a new one is whole";
  Write(3);
  ExpectHolds(*store_, 3);
}

}  // namespace
}  // namespace lockstep
