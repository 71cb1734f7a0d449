#include "detector/stats/false_alarm_budget.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(FalseAlarmBudgetTest, EvidenceIsTheLogarithmOfLooksOverBudget) {
  EXPECT_NEAR(EvidenceNeeded(128, 1, 1e-4), std::log(128 * 86'400 / 1e-4), 1e-9);
  EXPECT_NEAR(EvidenceNeeded(128, 15, 1e-4), EvidenceNeeded(128, 1, 1e-4) - std::log(15), 1e-9);
  EXPECT_EQ(EvidenceNeeded(1, 3600, 1), kLeastEvidence);
}

TEST(FalseAlarmBudgetTest, StudentAndNormalAreInverse) {
  for (const double freedom : {1.0, 3.0, 15.0, 63.0, 500.0}) {
    for (const double z : {-3.0, -0.5, 0.0, 1.0, 2.5}) {
      EXPECT_NEAR(NormalOf(StudentOf(z, freedom), freedom), z, 1e-9) << freedom;
    }
    EXPECT_GE(StudentOf(5, freedom), 5);
  }
  EXPECT_EQ(StudentOf(20, 1), kFurthest);
  // Two-sided 1 % points of Student's distribution: 3.169 with 10 degrees of freedom, 2.660 with 60.
  EXPECT_NEAR(NormalOf(3.169, 10), 2.576, 0.02);
  EXPECT_NEAR(NormalOf(2.660, 60), 2.576, 0.005);
}

// The bound that the threshold rests on, by trial: healthy sums reach h at most e^-h times per tick.
TEST(FalseAlarmBudgetTest, HealthySumsStayWithinTheBound) {
  constexpr double kNats = 5;
  constexpr int kTicks = 400'000;
  Random random(1);
  for (const double shift : {1.0, 3.0}) {
    double sum = 0;
    int alarms = 0;
    for (int tick = 0; tick < kTicks; ++tick) {
      sum = std::max(0.0, sum + shift * random.Gaussian() - shift * shift / 2);
      if (sum < kNats) continue;
      ++alarms;
      sum = 0;
    }
    EXPECT_LE(alarms, kTicks * std::exp(-kNats)) << shift;
    EXPECT_GT(alarms, 0) << shift;
  }
}

}  // namespace
}  // namespace lockstep
