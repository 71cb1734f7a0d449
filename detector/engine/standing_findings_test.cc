#include "detector/engine/standing_findings.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kSteps = 20;  // of every look; a step a second

Verdict SlowRank(int32_t rank, int64_t first_step = 0, int64_t last_step = kSteps - 1) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-1", .rank = rank}};
  verdict.first_step = first_step;
  verdict.last_step = last_step;
  verdict.cost.slowdown_fraction = 0.2;
  return verdict;
}

class StandingFindingsTest : public testing::Test {
 protected:
  // A look `steps` steps after the one before.
  bool Look(const std::vector<Verdict>& verdicts, int64_t steps = 2, bool still_slower = false) {
    newest_ += steps;
    return findings_.Take({.verdicts = verdicts,
                           .steps = kSteps,
                           .step_seconds = 1,
                           .watermark_ns = newest_ * kSecond,
                           .newest_step = newest_,
                           .still_slower = still_slower});
  }

  StandingFindings findings_;
  int64_t newest_ = 100;
};

TEST_F(StandingFindingsTest, TwoLooksAtDifferentStepsTellACause) {
  EXPECT_TRUE(Look({SlowRank(3)}));
  EXPECT_TRUE(findings_.Told().empty());
  EXPECT_EQ(findings_.Candidates().size(), 1u);
  EXPECT_TRUE(Look({SlowRank(3)}, /*steps=*/0));
  EXPECT_TRUE(findings_.Told().empty()) << "the same steps again";
  EXPECT_FALSE(Look({SlowRank(3)}));
  ASSERT_EQ(findings_.Told().size(), 1u);
  EXPECT_TRUE(findings_.accuses());
}

TEST_F(StandingFindingsTest, TwoLooksThatBlameDifferentRanksTellNobody) {
  Look({SlowRank(3)});
  Look({SlowRank(4)});
  Look({SlowRank(3)});
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, TheOnsetIsThatOfTheFirstLookInStepsOfTheJob) {
  Look({SlowRank(3, 14)});
  Look({SlowRank(3, 11)}, 3);
  ASSERT_EQ(findings_.Told().size(), 1u);
  const Verdict verdict = findings_.Told()[0];
  EXPECT_EQ(verdict.first_step, 102 - 6);
  EXPECT_EQ(verdict.last_step, 105);
  EXPECT_EQ(verdict.first_seen_ns, (102 - 6) * kSecond);
}

TEST_F(StandingFindingsTest, WhatTwoLooksMissIsOver) {
  Look({SlowRank(3)});
  Look({SlowRank(3)});
  EXPECT_TRUE(Look({})) << "the first miss asks for another look";
  EXPECT_EQ(findings_.Told().size(), 1u);
  Look({});
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, ACauseThatEndedBeforeTheEndOfTheLookIsOver) {
  Look({SlowRank(3)});
  Look({SlowRank(3)});
  Look({SlowRank(3, 0, kSteps - 8)});
  Look({SlowRank(3, 0, kSteps - 10)});
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, WhileStepsAreStillSlowItHoldsLongerUnlessSomethingElseIsFound) {
  Look({SlowRank(3)});
  Look({SlowRank(3)});
  for (int miss = 1; miss < StandingFindings::kMostMisses; ++miss) {
    Look({}, 2, /*still_slower=*/true);
    EXPECT_EQ(findings_.Told().size(), 1u) << miss;
  }
  Look({SlowRank(5)}, 2, /*still_slower=*/true);
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, MoreCausesThanFitAreCounted) {
  std::vector<Verdict> many;
  for (int32_t rank = 0; rank < static_cast<int32_t>(StandingFindings::kMaxFindings) + 5; ++rank) {
    many.push_back(SlowRank(rank));
  }
  Look(many);
  EXPECT_EQ(findings_.refused(), 5u);
  Look(many);
  EXPECT_EQ(findings_.Told().size(), StandingFindings::kMaxFindings);
}

TEST_F(StandingFindingsTest, HangsObservationsAndTheCourseOfTheJobAreNoCausesOfALook) {
  JobReport report;
  report.verdicts = {SlowRank(1), SlowRank(2), SlowRank(3), SlowRank(4)};
  report.verdicts[0].verdict_class = VerdictClass::kDeadlock;
  report.verdicts[1].BecomeObservation();
  report.verdicts[2].verdict_class = VerdictClass::kDrift;
  const std::vector<Verdict> causes = CausesOfLook(report);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].culprits[0].rank, 4);
}

}  // namespace
}  // namespace lockstep
