#include "detector/engine/standing_findings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/engine/short_records.h"
#include "detector/verdict/abstention.h"
#include "detector/verdict/cost_limit.h"
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
  Look({SlowRank(3), SlowRank(2)});
  EXPECT_EQ(findings_.ToldCauses(), std::set<std::string>{CauseKey(SlowRank(3))});
}

TEST_F(StandingFindingsTest, WhatBlamesNoMachineIsToldOnceEightStepsAreNewAndTwentySecondsOld) {
  Verdict structural = Verdict::Accusation(VerdictScope::kStructural, VerdictClass::kStageImbalance);
  structural.last_step = kSteps - 1;
  structural.cost = {.slowdown_fraction = 0.1, .steps_affected_fraction = 1};
  EXPECT_TRUE(Look({structural}));
  EXPECT_EQ(findings_.state(), JobState::kHealthy);
  EXPECT_FALSE(Look({structural}, 19)) << "time alone is wanted";
  EXPECT_TRUE(findings_.Told().empty());
  EXPECT_NE(findings_.state(), JobState::kHealthy);
  Look({structural}, 1);
  EXPECT_EQ(findings_.Told().size(), 1u);
}

TEST_F(StandingFindingsTest, ALookWithNothingNewOfTheCulpritMissesNothingForAWhile) {
  const auto look_without = [this](const ShortRecords& records) {
    newest_ += 6;
    findings_.Take({.short_records = {records},
                    .steps = kSteps,
                    .step_seconds = 1,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  };
  for (int look = 0; look < 2; ++look) Look({SlowRank(3)});
  const int64_t seen = newest_;
  for (int look = 0; look < 4; ++look) look_without({.host = "node-1", .rank = 3});
  EXPECT_EQ(findings_.Told().size(), 1u) << "its agent hangs";
  newest_ -= 24;
  for (int look = 0; look < 2; ++look) look_without({.host = "node-1", .rank = 3, .last_step = 6});
  EXPECT_EQ(findings_.Told().size(), 1u) << "what is there is no newer than what was found";
  while ((newest_ - seen) * kSecond < StandingFindings::kUnseenNs) look_without({.host = "node-1", .rank = 3});
  for (int look = 0; look < 3; ++look) look_without({.host = "node-1", .rank = 3});
  EXPECT_TRUE(findings_.Told().empty()) << "nobody waits for ever";

  for (int look = 0; look < 2; ++look) Look({SlowRank(3)});
  ASSERT_EQ(findings_.Told().size(), 1u);
  for (int look = 0; look < 3; ++look) look_without({.host = "node-1", .rank = 4});
  EXPECT_TRUE(findings_.Told().empty()) << "of the culprit there is all";
}

TEST_F(StandingFindingsTest, WhatShowsUpToTheEndOfTheCulpritsRecordsIsNotOver) {
  const auto look_at = [this](int32_t last_record) {
    newest_ += 2;
    findings_.Take({.verdicts = {SlowRank(3, 0, 7)},
                    .short_records = {{.host = "node-1", .rank = 3, .last_step = last_record}},
                    .steps = kSteps,
                    .step_seconds = 1,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  };
  for (int look = 0; look < 2; ++look) look_at(15);
  EXPECT_TRUE(findings_.Told().empty()) << "seen to end";
  for (int look = 0; look < 2; ++look) look_at(8);
  EXPECT_EQ(findings_.Told().size(), 1u);
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
  Look({}, 1);
  EXPECT_EQ(findings_.Told().size(), 1u) << "the same noise as in the first miss";
  Look({}, 1);
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, ACauseThatEndedBeforeTheEndOfTheLookIsOver) {
  Look({SlowRank(3)});
  Look({SlowRank(3)});
  Look({SlowRank(3, 0, kSteps - 8)});
  Look({SlowRank(3, 0, kSteps - 10)});
  EXPECT_TRUE(findings_.Told().empty());
}

TEST_F(StandingFindingsTest, AnEndIsBelievedOnceItIsQuieterThanTheStretchWasInAll) {
  // Slow from the first step to the last but four, in each of these steps and in three of four.
  const auto after = [](double affected_of_stretch) {
    Verdict verdict = SlowRank(3, 0, kSteps - 5);
    verdict.cost.steps_affected_fraction = affected_of_stretch * (kSteps - 4) / kSteps;
    return verdict;
  };
  for (const double affected : {1.0, 0.75}) {
    findings_.Clear();
    Look({SlowRank(3)});
    Look({SlowRank(3)});
    Look({after(affected)}, 4);
    Look({after(affected)}, 1);
    EXPECT_EQ(findings_.Told().size(), affected < 1 ? 1u : 0u) << affected;
  }
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

TEST_F(StandingFindingsTest, ALookAtAJobOfWhichAPartIsHiddenFindsAndEndsNothing) {
  Look({SlowRank(3)});
  Look({SlowRank(3)});
  for (int look = 0; look < 5; ++look) {
    newest_ += 5;
    findings_.Take({.judged = false,
                    .verdicts = {SlowRank(5)},
                    .steps = kSteps,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  }
  EXPECT_EQ(findings_.Told().size(), 2u);
}

TEST_F(StandingFindingsTest, WhileRanksStayAwayNothingNewIsToldForAWhile) {
  const auto look = [this](bool judged, int64_t steps) {
    newest_ += steps;
    findings_.Take({.judged = judged,
                    .verdicts = {SlowRank(3)},
                    .steps = kSteps,
                    .step_seconds = 1,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  };
  Look({});
  for (int seconds = 5; seconds < 20; seconds += 5) look(/*judged=*/false, 5);
  EXPECT_TRUE(findings_.Told().empty()) << "any of them may be the one that the others wait for";
  look(/*judged=*/false, 5);
  EXPECT_EQ(findings_.Told().size(), 1u) << "they stay away";
  findings_.Clear();
  for (int looks = 0; looks < 2; ++looks) look(/*judged=*/false, 5);
  EXPECT_TRUE(findings_.Told().empty());
  look(/*judged=*/true, 5);
  EXPECT_EQ(findings_.Told().size(), 1u) << "they are there";
  findings_.Clear();
  for (int looks = 0; looks < 2; ++looks) look(/*judged=*/false, 5);
  Look({}, 5);
  look(/*judged=*/false, 20);
  EXPECT_TRUE(findings_.Told().empty()) << "when they were there it was not";
}

TEST_F(StandingFindingsTest, NothingIsToldUntilStepsAreSure) {
  Verdict pause = Verdict::Accusation(VerdictScope::kJob, VerdictClass::kPause);
  pause.last_step = kSteps - 1;
  pause.cost.slowdown_fraction = 0.5;
  for (int look = 0; look < 20; ++look) {
    newest_ += 2;
    findings_.Take({.steps_are_sure = false,
                    .verdicts = {SlowRank(3), pause},
                    .steps = kSteps,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  }
  EXPECT_TRUE(findings_.Told().empty());
  Look({SlowRank(3), pause});
  EXPECT_EQ(findings_.Told().size(), 2u);
}

TEST_F(StandingFindingsTest, WhomLooksAgreedAboutIsToldOnceStepsAreSureEvenIfItIsOver) {
  const auto look = [this](const std::vector<Verdict>& verdicts, bool sure) {
    newest_ += 2;
    findings_.Take({.steps_are_sure = sure,
                    .verdicts = verdicts,
                    .steps = kSteps,
                    .step_seconds = 1,
                    .watermark_ns = newest_ * kSecond,
                    .newest_step = newest_});
  };
  look({SlowRank(3), SlowRank(5)}, /*sure=*/false);
  look({SlowRank(3)}, false);
  for (int miss = 0; miss < 3; ++miss) look({}, false);
  EXPECT_TRUE(findings_.Told().empty());
  EXPECT_TRUE(findings_.Candidates().empty());
  look({}, true);
  ASSERT_EQ(findings_.Told().size(), 1u) << "rank 5 was found by one look only";
  EXPECT_EQ(findings_.Told()[0].culprits[0].rank, 3);
  look({}, true);
  EXPECT_TRUE(findings_.Told().empty());

  look({SlowRank(3)}, false);
  look({SlowRank(3)}, false);
  findings_.Renumber(newest_);
  look({}, true);
  EXPECT_TRUE(findings_.Told().empty()) << "these were no steps";
}

TEST_F(StandingFindingsTest, LongerStepsOfUnknownCauseAreTheStateSoonAndToldIfTheyLast) {
  Verdict unknown = Verdict::Abstention(SlowWithoutCause{.first_step = 8, .share = 1});
  unknown.first_step = 8;
  unknown.last_step = kSteps - 1;
  Look({unknown});
  EXPECT_EQ(findings_.state(), JobState::kHealthy);
  Look({unknown}, 4);
  EXPECT_EQ(findings_.state(), JobState::kSlow);
  EXPECT_TRUE(findings_.Told().empty());
  Look({unknown}, 60);
  const std::vector<Verdict> told = findings_.Told();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(findings_.explains());
  EXPECT_EQ(FindReason<SlowWithoutCause>(told[0])->first_step, newest_ - kSteps + 8) << "counted in the job";
}

TEST_F(StandingFindingsTest, SlownessIsWithoutACauseOnlyForALookThatSawWhoIsAccused) {
  Verdict unknown = Verdict::Abstention(SlowWithoutCause{.first_step = 8, .share = 1});
  unknown.last_step = kSteps - 1;
  const auto left = [&](const std::vector<Verdict>& causes) {
    StandingFindings after = findings_;
    after.Take({.verdicts = causes, .steps = kSteps, .step_seconds = 1, .newest_step = newest_ + 1});
    return after.Candidates().size();
  };
  EXPECT_EQ(left({unknown}), 1u) << "nobody is accused";
  Look({SlowRank(3)});
  EXPECT_EQ(left({unknown}), 1u) << "nor was anybody told";
  Look({SlowRank(3)});
  ASSERT_EQ(findings_.Told().size(), 1u);
  EXPECT_EQ(left({unknown}), 0u);
  EXPECT_EQ(left({unknown, SlowRank(3)}), 2u) << "it explains less than half";
  Look({unknown, SlowRank(3)});
  Look({unknown, SlowRank(3)}, 61);
  ASSERT_EQ(findings_.Told().size(), 2u);
  EXPECT_EQ(left({unknown}), 1u) << "what was told stays";
}

TEST_F(StandingFindingsTest, WhatWasFoundInAnotherUnitOfStepsIsForgottenUnlessItWasTold) {
  Look({SlowRank(3)});
  Look({SlowRank(3), SlowRank(5)});
  findings_.Renumber(4);
  EXPECT_EQ(findings_.Candidates().size(), 1u);
  newest_ = 4;
  Look({SlowRank(3), SlowRank(5)});
  EXPECT_EQ(findings_.Told().size(), 1u);
  Look({SlowRank(3), SlowRank(5)});
  EXPECT_EQ(findings_.Told().size(), 2u);
}

// Looks at a job whose pace has not changed since step 100: the first two see the onset, later ones do not.
class SettledFindingTest : public StandingFindingsTest {
 protected:
  SettledFindingTest() {
    LookAt(110, {SlowRank(3, 10)});
    LookAt(112, {SlowRank(3, 8)});
  }

  void LookAt(int64_t newest, const std::vector<Verdict>& verdicts, int64_t level_since_step = 100) {
    findings_.Take({.verdicts = verdicts,
                    .steps = kSteps,
                    .step_seconds = 1,
                    .watermark_ns = newest * kSecond,
                    .newest_step = newest,
                    .level_since_step = level_since_step});
  }

  std::vector<int32_t> Told() const {
    std::vector<int32_t> ranks;
    for (const Verdict& verdict : findings_.Told()) ranks.push_back(verdict.culprits[0].rank);
    return ranks;
  }
};

TEST_F(SettledFindingTest, AWindowWithoutThePastOfACauseDoesNotAccountForIt) {
  const auto accounts = [this](int64_t newest, const std::vector<Verdict>& verdicts, int64_t level_since_step) {
    return findings_.AccountsForTold(
        {.verdicts = verdicts, .steps = kSteps, .newest_step = newest, .level_since_step = level_since_step});
  };
  ASSERT_EQ(Told(), std::vector<int32_t>{3});
  EXPECT_TRUE(accounts(130, {SlowRank(3)}, 100));
  EXPECT_FALSE(accounts(130, {}, 100)) << "the pace is the same, and the onset lies before the window";
  EXPECT_TRUE(accounts(130, {}, 125)) << "the pace changed, and nothing is found any more";
}

TEST_F(SettledFindingTest, LooksThatNoLongerSeeTheOnsetDoNotEndIt) {
  for (int64_t look = 0; look < 20; ++look) LookAt(140 + 20 * look, {});
  EXPECT_EQ(Told(), std::vector<int32_t>{3});
}

TEST_F(SettledFindingTest, LooksThatSeeTheOnsetDo) {
  LookAt(113, {});
  LookAt(116, {});
  EXPECT_TRUE(Told().empty());
}

TEST_F(SettledFindingTest, AfterTheNextChangeOfPaceEveryLookCounts) {
  LookAt(160, {}, /*level_since_step=*/150);
  LookAt(162, {}, /*level_since_step=*/150);
  EXPECT_TRUE(Told().empty());
}

TEST_F(SettledFindingTest, APaceThatChangedAsTheOnsetWasSeenLastIsAnotherPace) {
  LookAt(140, {}, /*level_since_step=*/110);
  LookAt(142, {}, /*level_since_step=*/110);
  EXPECT_TRUE(Told().empty());
}

TEST_F(SettledFindingTest, ALookThatSawItEndKnowsEnough) {
  LookAt(140, {SlowRank(3, 0, 10)});
  EXPECT_EQ(Told(), std::vector<int32_t>{3});
  LookAt(142, {SlowRank(3, 0, 8)});
  EXPECT_TRUE(Told().empty());
}

TEST_F(SettledFindingTest, WhomALaterLookBlamesFromItsFirstStepOnIsNotBelieved) {
  LookAt(140, {SlowRank(3), SlowRank(7)});
  LookAt(142, {SlowRank(3), SlowRank(7)});
  EXPECT_EQ(Told(), std::vector<int32_t>{3});
  LookAt(160, {SlowRank(3), SlowRank(7, 8)});
  LookAt(162, {SlowRank(3), SlowRank(7, 6)});
  EXPECT_EQ(Told(), (std::vector<int32_t>{3, 7})) << "an onset in sight is another matter";
}

TEST_F(SettledFindingTest, WhatItCostsIsWhatTheLookWithThePastSaid) {
  Verdict cheaper = SlowRank(3);
  cheaper.cost.slowdown_fraction = 0.05;
  LookAt(140, {cheaper});
  ASSERT_EQ(findings_.Told().size(), 1u);
  EXPECT_EQ(findings_.Told()[0].cost.slowdown_fraction, 0.2);
  EXPECT_EQ(findings_.Told()[0].last_step, 140);
}

TEST_F(SettledFindingTest, SixLooksInARowThatBlameOthersEndIt) {
  for (int look = 1; look < StandingFindings::kMostMisses; ++look) LookAt(140 + look, {SlowRank(7)});
  EXPECT_EQ(Told(), std::vector<int32_t>{3});
  LookAt(150, {SlowRank(7)});
  EXPECT_TRUE(Told().empty());
}

TEST_F(SettledFindingTest, WhenStepsAreCountedAnewNothingIsSettled) {
  findings_.Renumber(112);
  LookAt(140, {});
  LookAt(142, {});
  EXPECT_TRUE(Told().empty());
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
  report.verdicts.push_back(Verdict::Accusation(VerdictScope::kStructural, VerdictClass::kStageImbalance));
  report.verdicts.back().cost.slowdown_fraction = 0.02;
  const std::vector<Verdict> causes = CausesOfLook(report, 0.03);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].culprits[0].rank, 4);
  const std::set<std::string> told = {CauseKey(report.verdicts.back())};
  EXPECT_EQ(CausesOfLook(report, CostLimit(0.03, told)).size(), 2u) << "what was told holds for less";
}

}  // namespace
}  // namespace lockstep
