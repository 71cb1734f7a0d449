#include "detector/counters/usual_scatter.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kWeight = 0.01;

// That has learnt that `units` units lie `scatter` apart.
UsualScatter Learnt(double scatter, int units) {
  UsualScatter learnt;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(learnt.Beyond(scatter, units, 1.0 / (1 + i), false), 0);
  return learnt;
}

TEST(UsualScatterTest, SaysHowMuchFurtherApartAllLieThanUsual) {
  UsualScatter scatter = Learnt(2, 100);
  EXPECT_EQ(scatter.Beyond(2, 100, kWeight, true), 0);
  EXPECT_EQ(scatter.Beyond(2.9, 100, kWeight, true), 0) << "chance";
  EXPECT_NEAR(scatter.Beyond(5, 100, kWeight, true), 4, 0.05);
}

TEST(UsualScatterTest, OfFewUnitsItTakesMoreAndOfVeryFewNothingTells) {
  for (const int units : {4, UsualScatter::kFewestUnits, 400}) {
    UsualScatter scatter = Learnt(2, units);
    EXPECT_EQ(scatter.Beyond(3, units, kWeight, true) > 0, units == 400) << units;
    EXPECT_EQ(scatter.Beyond(40, units, kWeight, true) > 0, units > 4) << units;
  }
}

TEST(UsualScatterTest, GetsUsedToWhatStays) {
  UsualScatter scatter = Learnt(2, 100);
  int ticks = 0;
  while (scatter.Beyond(5, 100, kWeight, true) > 0) ASSERT_LT(++ticks, 2000);
  EXPECT_GT(ticks, 50);
}

}  // namespace
}  // namespace lockstep
