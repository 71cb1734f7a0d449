#include "detector/verdict/job_state.h"

#include <vector>

#include "detector/verdict/abstention.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict Costly(VerdictScope scope, VerdictClass verdict_class, double share) {
  Verdict verdict = Verdict::Accusation(scope, verdict_class);
  verdict.cost = {.slowdown_fraction = 0.1, .seconds_per_step = 0.1, .steps_affected_fraction = share};
  return verdict;
}

TEST(JobStateTest, WhatCostsMostStepsIsSlowAndWhatCostsSomeIsIrregular) {
  EXPECT_EQ(StateWith({}, JobState::kUnknown), JobState::kUnknown);
  const Verdict often = Costly(VerdictScope::kStructural, VerdictClass::kStageImbalance, 0.5);
  const Verdict seldom = Costly(VerdictScope::kMachine, VerdictClass::kComputeSlow, 0.4);
  EXPECT_EQ(StateWith({often}, JobState::kHealthy), JobState::kSlow);
  EXPECT_EQ(StateWith({seldom}, JobState::kHealthy), JobState::kIrregular);
  EXPECT_EQ(StateWith({often, seldom}, JobState::kUnknown), JobState::kSlow);
}

TEST(JobStateTest, AHangCountsMoreThanAnythingElse) {
  const Verdict hang = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kHangNotEntered);
  const Verdict slow = Costly(VerdictScope::kMachine, VerdictClass::kComputeSlow, 1);
  EXPECT_EQ(StateWith({slow, hang}, JobState::kHealthy), JobState::kHung);
}

TEST(JobStateTest, APlannedPauseAndWhatCostsNothingChangeNothing) {
  Verdict pause = Costly(VerdictScope::kJob, VerdictClass::kPause, 1);
  pause.advice = Advice::kNone;
  Verdict free = Costly(VerdictScope::kMachine, VerdictClass::kComputeSlow, 1);
  free.cost.slowdown_fraction = 0;
  EXPECT_EQ(StateWith({pause, free}, JobState::kHealthy), JobState::kHealthy);
}

TEST(JobStateTest, LongerStepsWithoutACauseAreSlowThoughNobodyIsBlamed) {
  const Verdict often = Verdict::Abstention(SlowWithoutCause{.first_step = 3, .share = 0.9});
  const Verdict seldom = Verdict::Abstention(SlowWithoutCause{.first_step = 3, .share = 0.2});
  EXPECT_TRUE(IsSlowWithoutCause(often));
  EXPECT_TRUE(IsOftenSlowWithoutCause(often));
  EXPECT_EQ(StateWith({often}, JobState::kHealthy), JobState::kSlow);
  EXPECT_EQ(StateWith({seldom}, JobState::kHealthy), JobState::kIrregular);
  const Verdict other = Verdict::Abstention(NoRecords{});
  EXPECT_FALSE(IsSlowWithoutCause(other));
  EXPECT_EQ(StateWith({other}, JobState::kUnknown), JobState::kUnknown);
}

}  // namespace
}  // namespace lockstep
