// Pages of series out of a real store: each is bounded, and together they hold everything once.

#include "collector/store/series_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/rocks_store.h"

namespace lockstep {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr Metric kGauge = Metric::kGpuPowerWatts;
const SeriesSelector kAll{kGauge, "", "*", 0, kForever, {}};

using Answer = std::map<SeriesNames::Name, std::vector<Point>>;

class SeriesPageTest : public ::testing::Test {
 protected:
  SeriesPageTest() { options_.directory = (directory_.path() / "history").string(); }

  void SetUp() override {
    auto store = OpenRocksStore(options_, clock_);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }

  // All pages after each other. No page holds more than `limits` say, and `at_once` points of one moment.
  Answer ReadAllPages(const SeriesLimits& limits, size_t at_once) {
    Answer answer;
    SeriesSelector selector = kAll;
    pages_ = 0;
    do {
      const absl::StatusOr<SeriesPage> page = store_->ReadSeries(selector, limits);
      EXPECT_OK(page);
      if (!page.ok()) return answer;
      size_t points = 0;
      for (const SeriesRange& range : page->ranges) {
        std::vector<Point>& own = answer[{range.host, range.device}];
        own.insert(own.end(), range.points.begin(), range.points.end());
        points += range.points.size();
      }
      EXPECT_LE(page->ranges.size(), limits.max_series);
      EXPECT_LE(points, limits.max_points + at_once);
      selector.resume = page->next;
    } while (selector.resume.has_value() && ++pages_ < 10'000);
    return answer;
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  RocksStoreOptions options_;
  std::unique_ptr<RocksStore> store_;
  int pages_ = 0;  // behind the first
};

// The order of names in keys is by length first; points come late, and some of one moment.
TEST_F(SeriesPageTest, PagesHoldWhatFitsAndTogetherAllOfItOnce) {
  constexpr size_t kAtOnce = 5;
  Random random(11);
  Answer all;
  for (int i = 0; i < 600; ++i) {
    const std::string host = random.Below(2) == 0 ? "b" : "aa";
    const std::string device = random.Below(2) == 0 ? "" : "gpu0";
    const int64_t second = i / 4 + static_cast<int64_t>(random.Below(20));
    const int64_t wall_ns = clock_.WallNanos() + second * kNanosPerSecond;
    ASSERT_OK(store_->Write({.points = {{host, device, kGauge, wall_ns, 1.0 * i}}}));
    if (i == 300) {
      ASSERT_OK(store_->Flush());
    }
    all[{host, device}].emplace_back(wall_ns, i);
  }
  for (auto& [name, points] : all) std::sort(points.begin(), points.end());
  for (const size_t max_points : {1, 10, 33, 1'000}) {
    Answer found = ReadAllPages({.max_series = 3, .max_points = max_points}, kAtOnce);
    EXPECT_GE(pages_, static_cast<int>(600 / (max_points + kAtOnce)));
    for (auto& [name, points] : found) {
      EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                                 [](const Point& a, const Point& b) { return a.first < b.first; }));
      std::sort(points.begin(), points.end());
    }
    EXPECT_EQ(found, all) << max_points;
  }
}

TEST_F(SeriesPageTest, PagesGoOnFromRollUpsToPoints) {
  options_.chunk_retention_ns = 3'600 * kNanosPerSecond;
  store_.reset();
  SetUp();
  for (int minute = 0; minute < 90; ++minute) {
    for (const int64_t ns : {int64_t{0}, kNanosPerSecond}) {
      ASSERT_OK(store_->Write({.points = {{"node", "", kGauge, clock_.WallNanos() + ns, 1.0 * minute}}}));
    }
    clock_.Advance(60 * kNanosPerSecond);
  }
  ASSERT_OK(store_->Flush());
  const Answer whole = ReadAllPages({.max_series = 1, .max_points = 1'000}, 0);
  EXPECT_EQ(pages_, 0);
  EXPECT_EQ(ReadAllPages({.max_series = 1, .max_points = 8}, 0), whole);
  EXPECT_GE(pages_, 10);
}

TEST_F(SeriesPageTest, AMetricOfManySeriesIsReadInTheOrderOfTheirNames) {
  StoreBatch batch;
  for (int host = 0; host < 300; ++host) {
    batch.points.push_back({"node-" + std::to_string(host), "", kGauge, clock_.WallNanos(), 1.0 * host});
  }
  ASSERT_OK(store_->Write(batch));
  EXPECT_EQ(ReadAllPages({.max_series = 7, .max_points = 1'000}, 0).size(), 300u);
  EXPECT_EQ(pages_, 42);
}

}  // namespace
}  // namespace lockstep
