#include "detector/engine/without_effect.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kMinCost = 0.03;

Verdict Slow(int32_t rank, double share) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-a", .rank = rank}};
  verdict.cost = {.slowdown_fraction = share, .seconds_per_step = share, .steps_affected_fraction = 1};
  return verdict;
}

// Lines of a job whose steps take a second, scaled down to half.
TimeLedger LedgerOf(const std::vector<Verdict>& verdicts) {
  TimeLedger ledger;
  ledger.scale = 0.5;
  for (const Verdict& verdict : verdicts) ledger.lines.push_back({"", verdict.cost.seconds_per_step / 2});
  return ledger;
}

std::optional<size_t> Least(const std::vector<Verdict>& verdicts, const std::vector<double>& last_seconds) {
  return LeastWithoutEffect(last_seconds, LedgerOf(verdicts), CostLimit(kMinCost), verdicts);
}

TEST(WithoutEffectTest, WhoGivesNothingBackWhenAllElseIsGoneIsFoundTheLeastFirst) {
  EXPECT_EQ(Least({Slow(1, 0.05), Slow(2, 0.2)}, {0.01, 0.15}), 0U);
  EXPECT_EQ(Least({Slow(1, 0.05), Slow(2, 0.05)}, {0.01, 0.0}), 1U);
  EXPECT_EQ(Least({Slow(1, 0.05), Slow(1, 0.05)}, {0.0, 0.0}), 1U) << "the last of equals";
}

TEST(WithoutEffectTest, WhereTheJobHasLostNothingNobodyIsToBlameWhoGivesNothingBack) {
  const std::vector<Verdict> verdicts = {Slow(1, 0.05), Slow(2, 0.05)};
  TimeLedger ledger = LedgerOf(verdicts);
  ledger.scale = 0;
  for (LedgerLine& line : ledger.lines) line.seconds = 0;
  EXPECT_EQ(LeastWithoutEffect({0.0, 0.04}, ledger, CostLimit(kMinCost), verdicts), 0U);
  EXPECT_EQ(LeastWithoutEffect({0.04, 0.04}, ledger, CostLimit(kMinCost), verdicts), std::nullopt);
}

TEST(WithoutEffectTest, OfTwoThatHideBehindOneAnotherBothAreToMend) {
  EXPECT_EQ(Least({Slow(1, 0.2), Slow(2, 0.2)}, {0.2, 0.2}), std::nullopt);
}

TEST(WithoutEffectTest, WhatNoReplayKnowsOrAWholeEventTellsIsLeft) {
  EXPECT_EQ(Least({Slow(1, 0.05), Slow(2, 0.02)}, {-1, 0.001}), std::nullopt);
  Verdict structural = Slow(3, 0.1);
  structural.scope = VerdictScope::kStructural;
  EXPECT_EQ(Least({structural}, {0.0}), std::nullopt);
}

}  // namespace
}  // namespace lockstep
