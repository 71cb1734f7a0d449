// The model that ships: whole, of the metrics it should have, and better than no model.

#include "eval/minder/default_minder.h"

#include <iterator>
#include <set>
#include <string>

#include "eval/minder/minder_model.h"
#include "eval/minder/minder_training.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(DefaultMinderTest, KnowsTheMetricsOfThePaper) {
  const MinderModel model = DefaultMinderModel();
  std::set<std::string> names;
  for (const MinderMetric& metric : model.metrics) {
    names.insert(metric.name);
    // Of samples in [0, 1]; the worst was 0.0026 when the model was made.
    EXPECT_LT(metric.mean_squared_error, 0.005) << metric.name;
  }
  EXPECT_EQ(names, std::set<std::string>(std::begin(kPublishedMinderMetrics), std::end(kPublishedMinderMetrics)));
  EXPECT_TRUE(model.integrated.has_value());
}

TEST(DefaultMinderTest, IsWrittenByThisVersion) {
  const MinderModel model = DefaultMinderModel();
  const auto again = DecodeMinderModel(EncodeMinderModel(model));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metrics.size(), model.metrics.size());
}

}  // namespace
}  // namespace lockstep
