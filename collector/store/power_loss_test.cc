// A loss of power takes what was not synced: not a report, a mark or an answer of which somebody was told that it is
// stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/incident.pb.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Knows how much of each file has been synced, and can hold syncs up. Thread-safe.
class PageCache {
 public:
  void Synced(const std::string& name, uint64_t bytes) {
    MutexLock lock(mutex_);
    synced_[name] = bytes;
  }
  void Renamed(const std::string& from, const std::string& to) {
    MutexLock lock(mutex_);
    synced_[to] = synced_[from];
    synced_.erase(from);
  }

  void PassHold() {
    MutexLock lock(mutex_);
    if (!holds_) return;
    ++held_;
    changed_.NotifyAll();
    while (holds_) changed_.Wait(mutex_);
  }
  void Hold(bool holds) {
    MutexLock lock(mutex_);
    holds_ = holds;
    changed_.NotifyAll();
  }
  void AwaitHeld() {
    MutexLock lock(mutex_);
    while (held_ == 0) changed_.Wait(mutex_);
  }

  // Makes `to` what the next start would find in `from`, if the power were lost now.
  void CopyWhatIsSynced(const fs::path& from, const fs::path& to) {
    MutexLock lock(mutex_);
    fs::create_directory(to);
    for (const auto& entry : fs::directory_iterator(from)) {
      const auto synced = synced_.find(entry.path().string());
      if (synced == synced_.end()) continue;
      const fs::path copy = to / entry.path().filename();
      fs::copy_file(entry.path(), copy);
      fs::resize_file(copy, std::min<uint64_t>(synced->second, fs::file_size(copy)));
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, uint64_t> synced_ ABSL_GUARDED_BY(mutex_);
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

class CachedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  CachedFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name, PageCache& cache)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), cache_(cache) {}

  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    cache_.PassHold();
    const uint64_t bytes = GetFileSize(options, debug);
    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, debug);
    if (status.ok()) cache_.Synced(name_, bytes);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }

 private:
  const std::string name_;
  PageCache& cache_;
};

class CachedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit CachedFileSystem(PageCache& cache) : FileSystemWrapper(rocksdb::FileSystem::Default()), cache_(cache) {}
  const char* Name() const override { return "CachedFileSystem"; }
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override {
    IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok()) *file = std::make_unique<CachedFile>(std::move(*file), name, cache_);
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
    if (status.ok()) cache_.Renamed(from, to);
    return status;
  }

 private:
  PageCache& cache_;
};

class PowerLossTest : public RocksStoreFixture {
 protected:
  PowerLossTest() { options_.env = env_.get(); }
  ~PowerLossTest() override { store_.reset(); }  // before its environment

  // From now on the test looks at what a start after a loss of power finds.
  void LosePower() {
    const std::string left = (directory_.path() / "left").string();
    cache_.CopyWhatIsSynced(options_.directory, left);
    store_.reset();
    options_.directory = left;
    Open();
  }

  PageCache cache_;
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(std::make_shared<CachedFileSystem>(cache_));
};

TEST_F(PowerLossTest, WhatWasWrittenIsThere) {
  Open();
  for (int64_t i = 1; i <= 3; ++i) {
    ASSERT_OK(store_->Write({.log = {Watermark("a", now() + i), Watermark("b", now() + i)},
                             .marks = {{"node", 1, static_cast<uint64_t>(i)}}}));
  }
  LosePower();
  EXPECT_THAT(LogTimes("a"), ElementsAre(now() + 1, now() + 2, now() + 3));
  EXPECT_THAT(LogTimes("b"), SizeIs(3));
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 3u);
}

TEST_F(PowerLossTest, AHostThatReportedOnceIsKnown) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}, .marks = {{"node", 1, 1}, {"forgotten", 1, 1}}}));
  ASSERT_OK(store_->RemoveHost("forgotten"));
  const int64_t first = now();
  clock_.Advance(kNanosPerSecond);
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}, .marks = {{"node", 1, 2}, {"node", 2, 1}}}));
  LosePower();
  const auto hosts = store_->LoadHosts();
  ASSERT_OK(hosts);
  ASSERT_THAT(*hosts, SizeIs(1));
  EXPECT_EQ(hosts->front().name, "node");
  EXPECT_EQ(hosts->front().last_report_wall_ns, first);
}

TEST_F(PowerLossTest, AHostThatReportsAgainAfterItWasForgottenIsKnown) {
  Open();
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_OK(store_->Write({.marks = {{"node", 1, sequence}}}));
  }
  ASSERT_OK(store_->RemoveHost("node"));
  EXPECT_THAT(*store_->LoadHosts(), SizeIs(0));
  ASSERT_OK(store_->Write({.marks = {{"node", 1, 4}}}));
  LosePower();
  EXPECT_THAT(*store_->LoadHosts(), SizeIs(1));
}

TEST_F(PowerLossTest, AnAlertThatWasTakenIsNotToldAgain) {
  Open();
  wire::IncidentEvent event;
  *event.mutable_incident() = MakeIncident(1);
  const auto number = store_->PutEvent(event, {"receiver", "other"});
  ASSERT_OK(number);
  ASSERT_OK(store_->RemoveAlerts("receiver", {*number}));
  LosePower();
  const auto alerts = store_->LoadAlerts();
  ASSERT_OK(alerts);
  ASSERT_THAT(*alerts, SizeIs(1));
  EXPECT_EQ(alerts->front().receiver, "other");
}

TEST_F(PowerLossTest, ReadersDoNotWaitForADiskThatSyncs) {
  Open();
  WritePoints("node", {{now(), 1}});
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}}));
  cache_.Hold(true);
  std::thread writer([&] { EXPECT_OK(store_->Write({.log = {Watermark("a", now() + 1)}})); });
  cache_.AwaitHeld();
  EXPECT_THAT(PointsOf("node"), SizeIs(1));
  EXPECT_THAT(LogTimes("a"), ElementsAre(now())) << "what is not durable yet is not shown";
  cache_.Hold(false);
  writer.join();
  EXPECT_THAT(LogTimes("a"), SizeIs(2));
}

}  // namespace
}  // namespace lockstep
