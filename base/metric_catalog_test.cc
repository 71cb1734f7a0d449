#include "base/metric_catalog.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"

namespace lockstep {
namespace {

TEST(MetricCatalog, NumbersRiseAndNamesAreUnique) {
  std::set<absl::string_view> names;
  Metric previous = Metric::kUnspecified;
  for (const MetricInfo& info : MetricCatalog()) {
    EXPECT_LT(previous, info.metric) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    previous = info.metric;
  }
}

TEST(MetricCatalog, CountersAndNothingElseEndInTotal) {
  for (const MetricInfo& info : MetricCatalog()) {
    EXPECT_EQ(info.kind == MetricKind::kCounter, absl::EndsWith(info.name, "_total")) << info.name;
  }
}

TEST(MetricCatalog, FindsByNumberAndByName) {
  for (const MetricInfo& info : MetricCatalog()) {
    EXPECT_EQ(FindMetric(info.metric), &info);
    EXPECT_EQ(FindMetric(info.name), &info);
  }
  EXPECT_EQ(FindMetric(Metric::kUnspecified), nullptr);
  EXPECT_EQ(FindMetric(static_cast<Metric>(65535)), nullptr);
  EXPECT_EQ(FindMetric("no_such_metric"), nullptr);
}

}  // namespace
}  // namespace lockstep
