#include "collector/log_allowance.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'000 * kNanosPerSecond;

TEST(LogAllowanceTest, WhatIsSpentComesBackAfterAWhile) {
  LogAllowance allowance;
  EXPECT_EQ(allowance.Left(kNow, 1), LogAllowance::kMaxInputs);
  allowance.Spend(LogAllowance::kMaxInputs - LogAllowance::kLeastInputs);
  EXPECT_EQ(allowance.Left(kNow + 1, 1), LogAllowance::kLeastInputs);
  allowance.Spend(1);
  EXPECT_EQ(allowance.Left(kNow + LogAllowance::kRenewNanos, 1), 0);
  EXPECT_EQ(allowance.Left(kNow + LogAllowance::kRenewNanos + 1, 1), LogAllowance::kMaxInputs);
}

TEST(LogAllowanceTest, AJobGetsItsShareOrNothing) {
  LogAllowance allowance;
  EXPECT_EQ(allowance.Left(kNow, 10), LogAllowance::kMaxInputs / 10);
  EXPECT_EQ(allowance.Left(kNow, 1'000), 0);
}

}  // namespace
}  // namespace lockstep
