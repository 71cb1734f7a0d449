#include "cli/render/sparkline.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockstep {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SparklineTest, FromSmallestToLargest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline({10, -10}), "█▁");
}

TEST(SparklineTest, MissingValuesAreBlankAndEqualOnesAreLevel) {
  EXPECT_EQ(Sparkline({1, kNan, 2}), "▁ █");
  EXPECT_EQ(Sparkline({5, 5}), "▄▄");
  EXPECT_EQ(Sparkline({kNan}), " ");
  EXPECT_EQ(Sparkline({}), "");
}

}  // namespace
}  // namespace lockstep
