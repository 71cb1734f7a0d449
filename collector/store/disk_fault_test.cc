// A disk that refuses: errors come back as Status, nothing that was acknowledged is lost, and once the disk takes
// writes again so does the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/rocks_store.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;

enum class Fault { kNone, kNoSpace, kInputOutput };

rocksdb::IOStatus ErrorOf(Fault fault) {
  return fault == Fault::kNoSpace ? rocksdb::IOStatus::NoSpace("injected") : rocksdb::IOStatus::IOError("injected");
}

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile> file, const std::atomic<Fault>& fault)
      : FSWritableFileOwnerWrapper(std::move(file)), fault_(fault) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (fault_ != Fault::kNone) return ErrorOf(fault_);
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    if (fault_ != Fault::kNone) return ErrorOf(fault_);
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }

 private:
  const std::atomic<Fault>& fault_;
};

class FaultyDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, const std::atomic<bool>& refuses_names)
      : FSDirectoryWrapper(std::move(directory)), refuses_names_(refuses_names) {}
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    if (refuses_names_) return rocksdb::IOStatus::IOError("injected");
    return FSDirectoryWrapper::Fsync(options, debug);
  }
  rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug,
                                        const rocksdb::DirFsyncOptions& why) override {
    if (refuses_names_) return rocksdb::IOStatus::IOError("injected");
    return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why);
  }

 private:
  const std::atomic<bool>& refuses_names_;
};

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // `refuses_files`: while there is a fault, no file can be made either. `refuses_names`: directories do not sync.
  FaultyFileSystem(const std::atomic<Fault>& fault, bool refuses_files, const std::atomic<bool>& refuses_names)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        fault_(fault),
        refuses_files_(refuses_files),
        refuses_names_(refuses_names) {}
  const char* Name() const override { return "FaultyFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    if (refuses_files_ && fault_ != Fault::kNone) return ErrorOf(fault_);
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok()) *file = std::make_unique<FaultyFile>(std::move(*file), fault_);
    return status;
  }
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewDirectory(name, options, directory, debug);
    if (status.ok()) *directory = std::make_unique<FaultyDirectory>(std::move(*directory), refuses_names_);
    return status;
  }

 private:
  const std::atomic<Fault>& fault_;
  const bool refuses_files_;
  const std::atomic<bool>& refuses_names_;
};

struct Case {
  const char* name;
  Fault fault;
  absl::StatusCode code;
  bool refuses_files;
};

constexpr Case kCases[] = {
    {"NoSpace", Fault::kNoSpace, absl::StatusCode::kResourceExhausted, false},
    {"NoSpaceForFiles", Fault::kNoSpace, absl::StatusCode::kResourceExhausted, true},
    {"InputOutput", Fault::kInputOutput, absl::StatusCode::kUnavailable, false},
    {"InputOutputOfFiles", Fault::kInputOutput, absl::StatusCode::kUnavailable, true},
};

class DiskFaultTest : public ::testing::TestWithParam<Case> {
 protected:
  void Open() {
    store_.reset();
    RocksStoreOptions options;
    options.directory = (directory_.path() / "history").string();
    options.env = env_.get();
    auto store = OpenRocksStore(options, clock_);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }

  StoreBatch BatchAt(int64_t offset_ns) const {
    StoreBatch batch;
    wire::CaptureWatermark& watermark = *batch.log.emplace_back().mutable_watermark();
    watermark.set_job("a");
    watermark.set_wall_ns(SimClock::kStartWallNanos + offset_ns);
    return batch;
  }

  std::vector<int64_t> LogOffsets() {
    std::vector<int64_t> offsets;
    EXPECT_OK(store_->ScanLog("a", 0, std::numeric_limits<int64_t>::max(), [&](const wire::CaptureEntry& entry) {
      offsets.push_back(entry.watermark().wall_ns() - SimClock::kStartWallNanos);
      return true;
    }));
    return offsets;
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  std::atomic<Fault> fault_{Fault::kNone};
  std::atomic<bool> refuses_names_{false};
  // RocksDB shares the file system between its parts: it wants a shared_ptr.
  std::unique_ptr<rocksdb::Env> env_ =
      rocksdb::NewCompositeEnv(std::make_shared<FaultyFileSystem>(fault_, GetParam().refuses_files, refuses_names_));
  std::unique_ptr<RocksStore> store_;
};

TEST_P(DiskFaultTest, WritesFailAndAreCountedWhileReadingGoesOn) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  EXPECT_THAT(store_->Write(BatchAt(2)), StatusIs(GetParam().code, _));
  EXPECT_THAT(store_->Write(BatchAt(2)), StatusIs(GetParam().code, _));
  EXPECT_THAT(store_->PutIncident({}), StatusIs(GetParam().code, _));
  EXPECT_EQ(store_->stats().failed_writes, 3u);
  EXPECT_THAT(LogOffsets(), ElementsAre(1));
}

TEST_P(DiskFaultTest, AfterReopeningWhatWasAcknowledgedIsThereAndWritingWorks) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  EXPECT_THAT(store_->Write(BatchAt(2)), StatusIs(GetParam().code, _));
  store_.reset();
  fault_ = Fault::kNone;
  Open();
  ASSERT_OK(store_->Write(BatchAt(2)));
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 2));
}

INSTANTIATE_TEST_SUITE_P(Faults, DiskFaultTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

class CounterfactualTest : public DiskFaultTest {
 protected:
  // RocksDB notices in the background that the disk takes writes again; a writer tries until then, as the collector
  // does.
  template <typename Write>
  bool SucceedsEventually(Write write) {
    const int64_t deadline = RealClock().MonotonicNanos() + 60 * kNanosPerSecond;
    while (RealClock().MonotonicNanos() < deadline) {
      if (write().ok()) return true;
    }
    return false;
  }
};

TEST_P(CounterfactualTest, HealsByItselfWithoutLosingOrRepeatingAnything) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  EXPECT_FALSE(store_->Write(BatchAt(2)).ok());
  fault_ = Fault::kNone;
  ASSERT_TRUE(SucceedsEventually([&] { return store_->Write(BatchAt(2)); }));
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 2));
  Open();
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 2));
}

TEST_P(CounterfactualTest, HealsHoweverOftenItWasTriedMeanwhile) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  for (int64_t i = 2; i < 10; ++i) EXPECT_FALSE(store_->Write(BatchAt(i)).ok());
  fault_ = Fault::kNone;
  ASSERT_TRUE(SucceedsEventually([&] { return store_->Write(BatchAt(10)); }));
  Open();
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 10));
}

// To recover RocksDB makes new files, whose names have to be sure before anything relies on them.
TEST_P(CounterfactualTest, HealsWhenNamesCouldNotBeMadeSureMeanwhile) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  EXPECT_FALSE(store_->Write(BatchAt(2)).ok());
  refuses_names_ = true;
  fault_ = Fault::kNone;
  for (int64_t i = 3; i < 6; ++i) EXPECT_FALSE(store_->Write(BatchAt(i)).ok());
  refuses_names_ = false;
  ASSERT_TRUE(SucceedsEventually([&] { return store_->Write(BatchAt(10)); }));
  Open();
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 10));
}

// Nothing is in memory after a start that had a log to read.
TEST_P(CounterfactualTest, HealsWhenTheFirstWritesOfALifeFail) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  Open();
  for (int round = 0; round < 3; ++round) {
    fault_ = GetParam().fault;
    for (int64_t i = 2; i < 5; ++i) EXPECT_FALSE(store_->Write(BatchAt(i)).ok());
    fault_ = Fault::kNone;
    ASSERT_TRUE(SucceedsEventually([&] { return store_->Write(BatchAt(10 + round)); }));
  }
  EXPECT_THAT(LogOffsets(), ElementsAre(1, 10, 11, 12));
}

TEST_P(CounterfactualTest, CanBeEndedWhileTheDiskRefuses) {
  Open();
  ASSERT_OK(store_->Write(BatchAt(1)));
  fault_ = GetParam().fault;
  EXPECT_FALSE(store_->Write(BatchAt(2)).ok());
  EXPECT_FALSE(store_->Flush().ok());  // of a full disk RocksDB says that it is busy recovering
  EXPECT_FALSE(store_->Flush().ok());
  store_.reset();
  fault_ = Fault::kNone;
  Open();
  EXPECT_THAT(LogOffsets(), ElementsAre(1));
}

// A restart would tell what came before the end of an incident, and nobody would ever tell its end again.
TEST_P(CounterfactualTest, WhatADiskRefusedToForgetGoesWithWhatComesAfterIt) {
  Open();
  wire::IncidentEvent event;
  event.mutable_incident()->set_id(1);
  const absl::StatusOr<uint64_t> news = store_->PutEvent(event, {"a", "b"});
  ASSERT_OK(news);
  fault_ = GetParam().fault;
  EXPECT_FALSE(store_->RemoveAlerts("a", {*news}).ok());
  fault_ = Fault::kNone;
  absl::StatusOr<uint64_t> end = absl::UnknownError("");
  ASSERT_TRUE(SucceedsEventually([&] { return (end = store_->PutEvent(event, {"a", "b"})).status(); }));
  ASSERT_OK(store_->RemoveAlerts("a", {*end}));
  Open();
  const auto left = store_->LoadAlerts();
  ASSERT_OK(left);
  ASSERT_EQ(left->size(), 2u);
  for (const PendingAlert& alert : *left) EXPECT_EQ(alert.receiver, "b");
}

TEST_P(CounterfactualTest, SealedPointsWaitForSpace) {
  Open();
  const int64_t now = clock_.WallNanos();
  ASSERT_OK(store_->Write({.points = {{"node", "", Metric::kHostLoad1, now, 1}}}));
  fault_ = GetParam().fault;
  EXPECT_THAT(store_->Flush(), StatusIs(GetParam().code, _));
  fault_ = Fault::kNone;
  ASSERT_TRUE(SucceedsEventually([&] { return store_->Flush(); }));
  Open();
  const auto page =
      store_->ReadSeries({Metric::kHostLoad1, "node", "", 0, now + 1, {}}, {.max_series = 10, .max_points = 10});
  ASSERT_OK(page);
  ASSERT_EQ(page->ranges.size(), 1u);
  EXPECT_EQ(page->ranges[0].points.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Faults, CounterfactualTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep
