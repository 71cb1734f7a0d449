// Histories on disk that are damaged, and what of them is there after a repair.

#include "collector/store/history_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/metric_catalog.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr uint64_t kEntries = 50;

class HistoryRepairTest : public testing::Test {
 protected:
  std::unique_ptr<RocksStore> Open() {
    auto store = OpenRocksStore(options_, clock_);
    EXPECT_OK(store);
    return store.ok() ? *std::move(store) : nullptr;
  }

  // Entry, sample and incident n of job `job`.
  void Write(RocksStore& store, uint64_t n, const std::string& job = "a") {
    StoreBatch batch;
    wire::CaptureWatermark& watermark = *batch.log.emplace_back().mutable_watermark();
    watermark.set_job(job);
    watermark.set_wall_ns(clock_.WallNanos() + static_cast<int64_t>(n));
    batch.points.push_back({"node", "gpu0", Metric::kGpuPowerWatts, clock_.WallNanos() + static_cast<int64_t>(n), 1});
    ASSERT_OK(store.Write(batch));
    wire::Incident incident;
    incident.set_id(n);
    ASSERT_OK(store.PutIncident(incident));
  }

  // Where kEntries of job "a" are, and in no table yet.
  fs::path WriteAheadLog() {
    const std::unique_ptr<RocksStore> store = Open();
    for (uint64_t n = 1; n <= kEntries; ++n) Write(*store, n);
    const std::vector<fs::path> logs = Files(".log");
    EXPECT_THAT(logs, SizeIs(1));
    return logs.at(0);
  }

  size_t LogSize(RocksStore& store, const std::string& job) {
    size_t count = 0;
    EXPECT_OK(store.ScanLog(job, 0, kForever, [&](const wire::CaptureEntry& entry) {
      EXPECT_EQ(entry.watermark().job(), job);
      ++count;
      return true;
    }));
    return count;
  }

  std::vector<fs::path> Files(const std::string& ending) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(options_.directory)) {
      if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
    }
    return found;
  }
  void RemoveCurrent() const { ASSERT_TRUE(fs::remove(fs::path(options_.directory) / "CURRENT")); }

  TemporaryDirectory directory_;
  SimClock clock_;
  RocksStoreOptions options_{.directory = (directory_.path() / "history").string()};
};

// What stands behind a broken record of the write-ahead log cannot be read: it must not go in silence.
TEST_F(HistoryRepairTest, APartOfTheWriteAheadLogThatIsLostIsCounted) {
  const fs::path path = WriteAheadLog();
  std::fstream log(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(path) / 2);
  log.seekg(middle);
  const auto flipped = static_cast<char>(log.get() ^ 1);
  log.seekp(middle);
  log.put(flipped);
  log.close();
  const std::unique_ptr<RocksStore> store = Open();
  EXPECT_LT(LogSize(*store, "a"), kEntries);
  EXPECT_GT(store->stats().corrupt_records, 0u);
}

// Nobody can tell whether power took it before it was acknowledged.
TEST_F(HistoryRepairTest, AWriteAheadLogThatBreaksOffIsCounted) {
  const fs::path path = WriteAheadLog();
  fs::resize_file(path, fs::file_size(path) - 3);
  const std::unique_ptr<RocksStore> store = Open();
  EXPECT_EQ(LogSize(*store, "a"), kEntries) << "the last record is the incident's";
  EXPECT_GT(store->stats().corrupt_records, 0u);
}

TEST_F(HistoryRepairTest, NothingIsLostIfOnlyTheIndexOfTheFilesIs) {
  {
    auto store = Open();
    Write(*store, 1, "");  // hosts without a job: its key is the empty one
    for (uint64_t n = 1; n <= 10; ++n) Write(*store, n);
    ASSERT_OK(store->Flush());
  }
  RemoveCurrent();  // the records are in the write-ahead log alone: no family but the first has a table
  const auto report = RepairHistory(options_, clock_);
  ASSERT_OK(report);
  EXPECT_FALSE(report->was_whole);
  EXPECT_THAT(report->lost_tables, IsEmpty());
  EXPECT_THAT(report->kept, Contains(std::pair<std::string, uint64_t>("incidents", 10)));
  auto store = Open();
  EXPECT_EQ(LogSize(*store, ""), 1u);
  EXPECT_EQ(LogSize(*store, "a"), 10u);
  EXPECT_THAT(store->LoadIncidents().value(), SizeIs(10));
  const auto page =
      store->ReadSeries({Metric::kGpuPowerWatts, "node", "*", 0, kForever, {}}, {.max_series = 1, .max_points = 100});
  ASSERT_OK(page);
  ASSERT_THAT(page->ranges, SizeIs(1));
  EXPECT_THAT(page->ranges[0].points, SizeIs(11));
}

// The table of a family that holds one record has one sequence number, which must not be that of a table of ours.
TEST_F(HistoryRepairTest, AFamilyMayHoldASingleRecordWrittenAtAnyTime) {
  for (uint64_t incidents = 0; incidents <= 12; ++incidents) {
    options_.directory = (directory_.path() / ("history-" + std::to_string(incidents))).string();
    {
      auto store = Open();
      wire::Incident incident;
      for (uint64_t n = 1; n <= incidents; ++n) {
        incident.set_id(n);
        ASSERT_OK(store->PutIncident(incident));
      }
      Write(*store, incidents + 1);
      ASSERT_OK(store->Flush());
    }
    RemoveCurrent();
    ASSERT_OK(RepairHistory(options_, clock_)) << incidents;
    EXPECT_EQ(LogSize(*Open(), "a"), 1u) << incidents;
  }
}

TEST_F(HistoryRepairTest, WhatWasRepairedMayBeRepairedAgain) {
  for (uint64_t n = 1; n <= 3; ++n) {
    {
      auto store = Open();
      Write(*store, n);
      ASSERT_OK(store->Flush());
    }
    RemoveCurrent();
    ASSERT_OK(RepairHistory(options_, clock_)) << n;
    EXPECT_EQ(LogSize(*Open(), "a"), n);
  }
}

TEST_F(HistoryRepairTest, NumbersThatRecordsUseAreNotGivenOutAgain) {
  {
    auto store = Open();
    for (uint64_t n = 1; n <= 10; ++n) Write(*store, n);
    ASSERT_OK(store->Flush());
    ASSERT_OK(store->Compact());  // RocksDB forgets at which number a record was written
  }
  RemoveCurrent();
  ASSERT_OK(RepairHistory(options_, clock_));
  for (int life = 0; life < 2; ++life) {
    auto store = Open();
    for (uint64_t n = 11; n <= 40; ++n) Write(*store, n, "b" + std::to_string(n + life * 100));
    EXPECT_EQ(LogSize(*store, "a"), 10u);
    EXPECT_EQ(LogSize(*store, "b11"), 1u);
  }
}

TEST_F(HistoryRepairTest, ABlockThatDoesNotDecodeCostsItsTableWhichIsKeptForALook) {
  {
    auto store = Open();
    for (uint64_t n = 1; n <= 10; ++n) Write(*store, n);
    ASSERT_OK(store->Flush());
    ASSERT_OK(store->Compact());
  }
  // The first bytes of a table are its first block: opening does not look at it.
  size_t damaged = 0;
  for (const fs::path& table : Files(".sst")) {
    std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3);
    file.write("\xff\xff\xff", 3);
    if (++damaged == 1) break;
  }
  ASSERT_EQ(damaged, 1u);
  const auto report = RepairHistory(options_, clock_);
  ASSERT_OK(report);
  EXPECT_FALSE(report->was_whole);
  ASSERT_THAT(report->lost_tables, SizeIs(1));
  EXPECT_TRUE(fs::exists(fs::path(options_.directory) / kLostDirectory / report->lost_tables[0]));
  Open();
  const auto again = RepairHistory(options_, clock_);
  ASSERT_OK(again);
  EXPECT_TRUE(again->was_whole);
}

}  // namespace
}  // namespace lockstep
