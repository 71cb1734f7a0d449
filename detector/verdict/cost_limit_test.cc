#include "detector/verdict/cost_limit.h"

#include <set>
#include <string>

#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict Slow(int32_t rank, VerdictClass verdict_class) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, verdict_class);
  verdict.culprits.push_back({.host = "node-a", .rank = rank});
  return verdict;
}

TEST(CostLimitTest, WhatWasToldHoldsDownToHalfAndNothingElseDoes) {
  const std::set<std::string> told = {CauseKey(Slow(2, VerdictClass::kComputeSlow))};
  const CostLimit limit(0.04, told);
  EXPECT_DOUBLE_EQ(limit.Of(Slow(2, VerdictClass::kComputeSlow)), 0.02);
  EXPECT_DOUBLE_EQ(limit.Of(Slow(2, VerdictClass::kHostSlow)), 0.02) << "one cause, understood otherwise";
  EXPECT_DOUBLE_EQ(limit.Of(Slow(3, VerdictClass::kComputeSlow)), 0.04);
  EXPECT_DOUBLE_EQ(limit.of_new(), 0.04);
}

TEST(CostLimitTest, WhatIsSaidOfTheJobHasOneLimitPerClass) {
  const std::set<std::string> told = {
      CauseKey(Verdict::Accusation(VerdictScope::kStructural, VerdictClass::kStageImbalance))};
  const CostLimit limit(0.04, told);
  EXPECT_DOUBLE_EQ(limit.Of(VerdictClass::kStageImbalance), 0.02);
  EXPECT_DOUBLE_EQ(limit.Of(VerdictClass::kSequenceImbalance), 0.04);
}

TEST(CostLimitTest, WithoutAPastThereIsOneLimit) {
  const CostLimit limit = 0.03;
  EXPECT_DOUBLE_EQ(limit.Of(Slow(2, VerdictClass::kComputeSlow)), 0.03);
  EXPECT_DOUBLE_EQ(limit.Of(VerdictClass::kPause), 0.03);
}

}  // namespace
}  // namespace lockstep
