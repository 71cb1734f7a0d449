#include "collector/store/open_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

SeriesPoint At(const std::string& host, int64_t wall_ns, double value = 0) {
  return {host, "", Metric::kHostLoad1, wall_ns, value};
}

TEST(OpenChunksTest, SealsWhenFullWhenTooLongAndWhenToldTo) {
  OpenChunks chunks({.span_ns = 100, .max_points = 3});
  for (const int64_t wall_ns : {0, 1, 2, 3, 102, 103}) chunks.Append(At("a", wall_ns));
  ASSERT_EQ(chunks.sealed().size(), 2u);
  EXPECT_THAT(chunks.sealed()[0].points, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0)));
  EXPECT_THAT(chunks.sealed()[1].points, ElementsAre(Pair(3, 0), Pair(102, 0)));
  EXPECT_EQ(chunks.open_series(), 1u);
  chunks.SealAll();
  EXPECT_EQ(chunks.open_series(), 0u);
  EXPECT_EQ(chunks.sealed().size(), 3u);
  chunks.DropSealed(2);
  EXPECT_THAT(chunks.sealed()[0].points, ElementsAre(Pair(103, 0)));
}

TEST(OpenChunksTest, SealsOldChunksOnly) {
  OpenChunks chunks({.span_ns = 100});
  chunks.Append(At("a", 0));
  chunks.Append(At("b", 1));
  chunks.SealOlder(100);
  ASSERT_EQ(chunks.sealed().size(), 1u);
  EXPECT_EQ(chunks.sealed()[0].labels.host, "a");
  EXPECT_EQ(chunks.open_series(), 1u);
}

TEST(OpenChunksTest, PointsInAnyOrderAreSealedByTime) {
  OpenChunks chunks({.span_ns = 100});
  for (const int64_t wall_ns : {50, 10, 90}) chunks.Append(At("a", wall_ns));
  chunks.SealAll();
  EXPECT_THAT(chunks.sealed()[0].points, ElementsAre(Pair(10, 0), Pair(50, 0), Pair(90, 0)));
}

TEST(OpenChunksTest, TooManySeriesAndTooManySealedChunksAreDroppedAndCounted) {
  OpenChunks chunks({.max_points = 1, .max_series = 2, .max_sealed = 2});
  for (const char* host : {"a", "b", "c"}) chunks.Append(At(host, 0));
  EXPECT_EQ(chunks.dropped_points(), 1u);
  for (int64_t wall_ns = 1; wall_ns <= 3; ++wall_ns) chunks.Append(At("a", wall_ns));
  EXPECT_EQ(chunks.sealed().size(), 2u);
  EXPECT_EQ(chunks.dropped_points(), 2u);
  EXPECT_THAT(chunks.sealed()[0].points, ElementsAre(Pair(1, 0))) << "the oldest goes first";
}

TEST(OpenChunksTest, RandomPointsAreAllThereAndNoChunkBreaksItsLimits) {
  Random random(3);
  const OpenChunksOptions options{.span_ns = 1'000, .max_points = 7};
  OpenChunks chunks(options);
  std::multimap<std::string, int64_t> appended, found;
  int64_t now = 0;
  for (int i = 0; i < 5'000; ++i) {
    now += static_cast<int64_t>(random.Below(300));
    const std::string host(1, static_cast<char>('a' + random.Below(5)));
    const int64_t wall_ns = now - static_cast<int64_t>(random.Below(600));
    chunks.Append(At(host, wall_ns));
    appended.emplace(host, wall_ns);
    if (random.Below(20) == 0) chunks.SealOlder(now);
  }
  std::set<std::string> hosts;
  chunks.ForEachLabels([&](const SeriesLabels& labels) { hosts.insert(labels.host); });
  EXPECT_EQ(hosts.size(), 5u);
  for (const std::string& host : hosts) {
    chunks.ForEachChunk({Metric::kHostLoad1, host, ""}, [&](const std::vector<Point>& points) {
      EXPECT_LE(points.size(), options.max_points);
      for (const Point& point : points) {
        found.emplace(host, point.first);
        EXPECT_LT(std::abs(point.first - points[0].first), options.span_ns);
      }
    });
  }
  const auto sorted = [](const std::multimap<std::string, int64_t>& map) {
    std::vector<std::pair<std::string, int64_t>> entries(map.begin(), map.end());
    std::sort(entries.begin(), entries.end());
    return entries;
  };
  EXPECT_EQ(sorted(found), sorted(appended));
}

}  // namespace
}  // namespace lockstep
