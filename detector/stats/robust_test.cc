#include "detector/stats/robust.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RobustTest, OfAnEvenNumberTheLowerMiddleOneAndOfNoneNaN) {
  EXPECT_EQ(LowerMedianOrNan({3, 1, 2}), 2);
  EXPECT_EQ(LowerMedianOrNan({4, 1, 3, 2}), 2) << "an element, not the mean of both";
  EXPECT_EQ(LowerMedianOrNan({9, 5}), 5);
  EXPECT_TRUE(std::isnan(LowerMedianOrNan({})));
}

TEST(RobustTest, AShareOfTheValuesLiesBelowAQuantile) {
  const std::vector<double> values = {50, 10, 40, 20, 30};
  EXPECT_EQ(Quantile(values, 0), 10);
  EXPECT_EQ(Quantile(values, 0.25), 20);
  EXPECT_EQ(Quantile(values, 0.9), 40);
  EXPECT_EQ(Quantile(values, 1), 50);
  EXPECT_TRUE(std::isnan(Quantile({}, 0.5)));
}

TEST(RobustTest, OneWildValueMovesNoDeviation) {
  EXPECT_NEAR(RobustDeviation({1, 2, 3, 4, 5}), 1.4826, 1e-9);
  EXPECT_NEAR(RobustDeviation({1, 2, 3, 4, 1e9}), 1.4826, 1e-9);
  EXPECT_EQ(RobustDeviation({}), 0);
  EXPECT_EQ(Known({1, kNan, 2}), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace lockstep
