// A history in a directory of the test, at the test's time. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_FIXTURE_H_

#include <gtest/gtest.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/metric_catalog.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"

namespace lockstep {

inline constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
inline constexpr Metric kGauge = Metric::kGpuPowerWatts;

inline wire::CaptureEntry Watermark(const std::string& job, int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_watermark()->set_job(job);
  entry.mutable_watermark()->set_wall_ns(wall_ns);
  return entry;
}

inline wire::Incident MakeIncident(uint64_t id, int64_t resolved_wall_ns = 0) {
  wire::Incident incident;
  incident.set_id(id);
  incident.set_job("job");
  incident.set_resolved_wall_ns(resolved_wall_ns);
  return incident;
}

class RocksStoreFixture : public ::testing::Test {
 protected:
  RocksStoreFixture() {
    options_.directory = (directory_.path() / "history").string();
    options_.write_buffer_bytes = size_t{1} << 20;
  }

  void Open() {
    store_.reset();
    auto store = OpenRocksStore(options_, clock_);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }

  int64_t now() const { return clock_.WallNanos(); }

  void WritePoints(const std::string& host, const std::vector<Point>& points, Metric metric = kGauge) {
    StoreBatch batch;
    for (const Point& point : points) batch.points.push_back({host, "gpu0", metric, point.first, point.second});
    ASSERT_OK(store_->Write(batch));
  }

  std::vector<int64_t> LogTimes(const std::string& job, int64_t from = 0, int64_t to = kForever) {
    std::vector<int64_t> times;
    EXPECT_OK(store_->ScanLog(job, from, to, [&](const wire::CaptureEntry& entry) {
      EXPECT_EQ(entry.watermark().job(), job);
      times.push_back(entry.watermark().wall_ns());
      return true;
    }));
    return times;
  }

  SeriesPage ReadPage(const SeriesSelector& selector, const SeriesLimits& limits) {
    auto page = store_->ReadSeries(selector, limits);
    EXPECT_OK(page);
    return page.ok() ? *std::move(page) : SeriesPage();
  }

  std::vector<SeriesRange> Read(const SeriesSelector& selector) {
    SeriesPage page = ReadPage(selector, {.max_series = 100, .max_points = 1'000'000});
    EXPECT_FALSE(page.next.has_value());
    return std::move(page.ranges);
  }

  std::vector<Point> PointsOf(const std::string& host, Metric metric = kGauge) {
    const auto ranges = Read({metric, host, "*", 0, kForever, {}});
    return ranges.empty() ? std::vector<Point>() : ranges[0].points;
  }

  // Replaces the value of every record of `family`, behind the store's back.
  void Scribble(Family family, const std::string& value) {
    store_.reset();
    auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    std::vector<std::string> keys;
    ASSERT_OK((*database)->Scan(family, "", "", nullptr, [&](absl::string_view key, absl::string_view) {
      keys.emplace_back(key);
      return true;
    }));
    ASSERT_FALSE(keys.empty());
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, family, keys.front(), value);
    ASSERT_OK((*database)->Write(batch, true));
    database->reset();
    Open();
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  RocksStoreOptions options_;
  std::unique_ptr<RocksStore> store_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_FIXTURE_H_
