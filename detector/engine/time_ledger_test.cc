// The ledger adds up, whatever the findings claim; and a job that is slow for no known reason is said to be.

#include "detector/engine/time_ledger.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Ten steps of a second, then ten of `later`.
StepTable Steps(double later, double noise = 0) {
  Random random(5);
  StepTable steps;
  steps.steps = 20;
  for (int step = 0; step < 20; ++step) {
    steps.step_seconds.push_back((step < 10 ? 1.0 : later) + noise * random.Gaussian());
    steps.usual.push_back(1);
  }
  return steps;
}

Verdict Finding(int64_t first_step, double seconds, VerdictClass verdict_class = VerdictClass::kComputeSlow) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, verdict_class);
  verdict.culprits = {{.host = "node-a", .rank = 3}};
  verdict.first_step = first_step;
  verdict.cost = {.slowdown_fraction = 0.1, .seconds_per_step = seconds, .steps_affected_fraction = 1};
  return verdict;
}

// Gains that add up.
double SumOf(const std::vector<LedgerLine>& lines) {
  double sum = 0;
  for (const LedgerLine& line : lines) sum += line.seconds;
  return sum;
}

TimeLedger LedgerOf(const StepTable& steps, const std::vector<Verdict>& verdicts) {
  return BuildLedger(steps, verdicts, FindLongerSteps(steps, 0.03), SumOf);
}

double Sum(const TimeLedger& ledger) {
  return ledger.reference_seconds + ledger.unexplained_seconds + SumOf(ledger.lines);
}

TEST(TimeLedgerTest, WhatFindingsDoNotExplainIsUnexplained) {
  const TimeLedger ledger = LedgerOf(Steps(1.4), {Finding(10, 0.3)});
  EXPECT_NEAR(ledger.reference_seconds, 1.0, 1e-9);
  EXPECT_NEAR(ledger.measured_seconds, 1.2, 1e-9);
  ASSERT_EQ(ledger.lines.size(), 1U);
  EXPECT_EQ(ledger.lines[0].finding, "compute_slow rank 3 node-a");
  EXPECT_NEAR(ledger.lines[0].seconds, 0.15, 1e-9) << "it was there in half of the steps";
  EXPECT_NEAR(ledger.unexplained_seconds, 0.05, 1e-9);
}

TEST(TimeLedgerTest, FindingsNeverCostMoreThanTheJobLost) {
  const TimeLedger ledger = LedgerOf(Steps(1.2), {Finding(10, 0.3), Finding(10, 0.1)});
  ASSERT_EQ(ledger.lines.size(), 2U);
  EXPECT_NEAR(ledger.lines[0].seconds + ledger.lines[1].seconds, 0.1, 1e-9);
  EXPECT_NEAR(ledger.lines[0].seconds, 3 * ledger.lines[1].seconds, 1e-9);
  EXPECT_NEAR(ledger.unexplained_seconds, 0, 1e-9);
}

TEST(TimeLedgerTest, CostsAreSharedAsTheLinesSay) {
  std::vector<Verdict> verdicts = {Finding(10, 0.3), Finding(10, 0.1), Finding(12, 0.5, VerdictClass::kPause)};
  ShareCosts(LedgerOf(Steps(1.2), verdicts), &verdicts);
  EXPECT_NEAR(verdicts[0].cost.seconds_per_step, 0.15, 1e-9);
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.05, 1e-9);
  EXPECT_NEAR(verdicts[1].cost.seconds_per_step, 0.05, 1e-9);
  EXPECT_NEAR(verdicts[2].cost.seconds_per_step, 0.5, 1e-9) << "no part of a usual step";
  std::vector<Verdict> one = {Finding(10, 0.1)};
  ShareCosts(LedgerOf(Steps(1.2), one), &one);
  EXPECT_NEAR(one[0].cost.seconds_per_step, 0.1, 1e-9);
}

TEST(TimeLedgerTest, WhatHidesBehindAnotherCostsWhatItGivesBackAlone) {
  std::vector<Verdict> verdicts = {Finding(10, 0.3), Finding(10, 0.1), Finding(12, 0.5, VerdictClass::kPause)};
  verdicts[1].culprits[0].rank = 4;
  const TimeLedger ledger = LedgerOf(Steps(1.2), verdicts);
  const Remedy first = {.finding = ledger.lines[0].finding,
                        .culprits = verdicts[0].culprits,
                        .alone_seconds = ledger.lines[0].seconds / 5,
                        .replayed = true};
  ShareCosts(ledger, &verdicts);
  HideCosts(ledger, {first}, &verdicts);
  EXPECT_NEAR(verdicts[0].cost.seconds_per_step, 0.03, 1e-9);
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.01, 1e-9);
  EXPECT_NEAR(verdicts[0].cost.hidden_fraction, 0.04, 1e-9);
  EXPECT_NEAR(verdicts[1].cost.seconds_per_step, 0.05, 1e-9) << "no replay tells";
  EXPECT_NEAR(verdicts[2].cost.seconds_per_step, 0.5, 1e-9);
  EXPECT_EQ(verdicts[0].evidence.back().text(),
            "Findings hide behind one another: removed alone this one gives back 1.0%, with the others gone 10.0%, and "
            "of what all have cost together 5.0% is its part.");
}

TEST(TimeLedgerTest, WithoutAPastTheReplayIsTheReference) {
  const TimeLedger ledger = LedgerOf(Steps(1.0), {Finding(0, 0.25)});
  EXPECT_NEAR(ledger.reference_seconds, 0.75, 1e-9);
  EXPECT_NEAR(ledger.unexplained_seconds, 0, 1e-9);
}

TEST(TimeLedgerTest, WithoutAPastWhatHidesBehindOneAnotherCostsWhatBothGiveBack) {
  const auto together = [](const std::vector<LedgerLine>&) { return 0.3; };
  const TimeLedger ledger = BuildLedger(Steps(1.0), {Finding(0, 0.3), Finding(0, 0.2)}, std::nullopt, together);
  EXPECT_NEAR(ledger.reference_seconds, 0.7, 1e-9);
  ASSERT_EQ(ledger.lines.size(), 2U);
  EXPECT_NEAR(ledger.lines[0].seconds, 0.18, 1e-9);
  EXPECT_NEAR(ledger.lines[1].seconds, 0.12, 1e-9);
  EXPECT_NEAR(ledger.unexplained_seconds, 0, 1e-9);
}

TEST(TimeLedgerTest, HangsAndPausesAreNoPartOfAUsualStep) {
  Verdict hang = Finding(12, 0.5, VerdictClass::kHangNotEntered);
  hang.cost.slowdown_fraction = 1;
  EXPECT_TRUE(LedgerOf(Steps(1.0), {hang, Finding(12, 0.5, VerdictClass::kPause)}).lines.empty());
}

TEST(TimeLedgerTest, WhatIsLostWhileTransfersStandStillIsLost) {
  StepTable steps = Steps(1.0);
  steps.usual_seconds = 1;
  steps.step_seconds[12] = 3;
  steps.usual[12] = 0;
  Verdict stall = Finding(12, 2.0 / 8, VerdictClass::kGroupSlow);
  EXPECT_NEAR(LedgerOf(steps, {stall}).measured_seconds, 1, 1e-9) << "nobody knows what happened in it";
  stall.evidence.push_back(
      {EvidenceKind::kDelayMatrix, StalledTransfers{.steps = 1, .first_step = 12, .last_step = 12}});
  const TimeLedger ledger = LedgerOf(steps, {stall});
  EXPECT_NEAR(ledger.measured_seconds, 1.1, 1e-9);
  ASSERT_EQ(ledger.lines.size(), 1U);
  EXPECT_NEAR(ledger.lines[0].seconds, 0.1, 1e-9);
  EXPECT_NEAR(ledger.unexplained_seconds, 0, 1e-9);
}

TEST(TimeLedgerTest, TooFewStepsHaveNoLedger) {
  StepTable steps = Steps(1.0);
  steps.usual.assign(20, 0);
  EXPECT_TRUE(LedgerOf(steps, {Finding(0, 0.25)}).empty());
}

TEST(TimeLedgerTest, AlwaysAddsUp) {
  Random random(9);
  for (int i = 0; i < 500; ++i) {
    std::vector<Verdict> verdicts;
    for (uint64_t k = random.Below(4); k > 0; --k) {
      verdicts.push_back(Finding(static_cast<int64_t>(random.Below(20)), 0.6 * random.Unit()));
    }
    const TimeLedger ledger = LedgerOf(Steps(0.8 + random.Unit(), 0.02 * random.Unit()), verdicts);
    EXPECT_NEAR(Sum(ledger), ledger.measured_seconds, 1e-9) << i;
    for (const LedgerLine& line : ledger.lines) EXPECT_GE(line.seconds, 0) << i;
    double lines = 0;
    for (const LedgerLine& line : ledger.lines) lines += line.seconds;
    EXPECT_LE(lines, std::max(0.0, ledger.measured_seconds - ledger.reference_seconds) + 1e-9) << i;
  }
}

std::optional<Verdict> Unknown(const StepTable& steps, const std::vector<Verdict>& verdicts) {
  TraceAnalysis analysis;
  Trace trace;
  analysis.trace = &trace;
  analysis.steps = steps;
  const std::optional<StepShift> shift = FindLongerSteps(steps, 0.03);
  if (!shift.has_value()) return std::nullopt;
  return SlowForUnknownReason(analysis, *shift, verdicts, 0.03);
}

TEST(SlowForUnknownReasonTest, SaysHowMuchAndSinceWhen) {
  const std::optional<Verdict> unknown = Unknown(Steps(1.3, 0.01), {});
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->type(), FindingType::kAbstention);
  EXPECT_EQ(unknown->evidence.at(0).reason.As<SlowWithoutCause>()->first_step, 10);
  EXPECT_TRUE(unknown->culprits.empty());
  EXPECT_EQ(unknown->first_step, 10);
  EXPECT_THAT(unknown->evidence[0].text(), HasSubstr("Since step 10"));
}

TEST(FindLongerStepsTest, AFirstStepThatWasRecordedInPartHidesNoChange) {
  StepTable steps = Steps(1.3, 0.005);
  steps.step_seconds[0] = 0.2;
  steps.step_seconds[15] = 1.9;
  const std::optional<StepShift> shift = FindLongerSteps(steps, 0.03);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->first_step, 10);
  EXPECT_NEAR(shift->lost_seconds(), 0.3, 0.01);
}

// Forty steps of a second, some of which take longer.
StepTable SomeLonger(const std::vector<int>& longer, double seconds) {
  Random random(5);
  StepTable steps;
  steps.steps = 40;
  steps.usual.assign(40, 1);
  for (int step = 0; step < 40; ++step) {
    const bool is_longer = std::find(longer.begin(), longer.end(), step) != longer.end();
    steps.step_seconds.push_back((is_longer ? seconds : 1) + 0.01 * random.Gaussian());
  }
  return steps;
}

TEST(SlowForUnknownReasonTest, SaysSoOfSomeStepsAsWell) {
  const std::vector<int> longer = {10, 12, 17, 18, 24, 33};
  const StepTable steps = SomeLonger(longer, 1.8);
  const std::optional<Verdict> unknown = Unknown(steps, {});
  ASSERT_TRUE(unknown.has_value());
  const SlowWithoutCause reason = *unknown->evidence.at(0).reason.As<SlowWithoutCause>();
  EXPECT_EQ(reason.first_step, 10);
  EXPECT_NEAR(reason.share, 6.0 / 30, 1e-9);
  EXPECT_NEAR(reason.unexplained_seconds, 0.16, 0.01);
  const TimeLedger ledger = LedgerOf(steps, {});
  EXPECT_NEAR(ledger.reference_seconds, 1, 0.01);
  EXPECT_NEAR(ledger.unexplained_seconds, 6 * 0.8 / 40, 0.01);
  Verdict known = Finding(10, 0.15);
  EXPECT_FALSE(Unknown(steps, {known}).has_value());
  EXPECT_FALSE(Unknown(SomeLonger({10, 20, 30}, 1.8), {}).has_value()) << "too few";
  EXPECT_FALSE(Unknown(SomeLonger({7, 15, 23, 31, 39}, 1.8), {}).has_value()) << "as planned";
  EXPECT_FALSE(Unknown(SomeLonger(longer, 1.1), {}).has_value()) << "below what counts";
}

// Boundaries may lie inside of the slow part: then a step is longer by none, one or two of its pieces.
// Of twenty steps of a second those in which ranks wait for others take two more.
StepTable Waited(const std::vector<size_t>& longer) {
  StepTable steps = Steps(1.0);
  steps.waited.assign(20, 0);
  for (const size_t step : longer) {
    steps.step_seconds[step] = 3;
    steps.usual[step] = 0;
    steps.waited[step] = 1;
  }
  return steps;
}

TEST(FindFewWaitedTest, WhatIsLostInAFewStepsIsLost) {
  const StepTable steps = Waited({8, 13});
  EXPECT_FALSE(FindLongerSteps(steps, 0.03).has_value()) << "no level";
  const std::optional<StepShift> few = FindFewWaited(steps, 0.03);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->first_step, 8);
  EXPECT_NEAR(few->share, 2.0 / 12, 1e-9);
  EXPECT_NEAR(few->lost_seconds(), 4.0 / 12, 1e-9);
  const TimeLedger none = BuildLedger(steps, {}, few, SumOf);
  EXPECT_NEAR(none.measured_seconds, 1.2, 1e-9);
  EXPECT_NEAR(none.unexplained_seconds, 0.2, 1e-9);
  const TimeLedger explained = BuildLedger(steps, {Finding(8, 4.0 / 12)}, few, SumOf);
  ASSERT_EQ(explained.lines.size(), 1U);
  EXPECT_NEAR(explained.lines[0].seconds, 0.2, 1e-9);
  EXPECT_NEAR(explained.unexplained_seconds, 0, 1e-9);
  EXPECT_EQ(UnexplainedSeconds(*few, {Finding(8, 4.0 / 12)}, 0.03), 0);
}

TEST(FindFewWaitedTest, TwoAtTheEndAreALevelAndOneIsTheEndOfARecording) {
  EXPECT_FALSE(FindFewWaited(Waited({19}), 0.03).has_value());
  EXPECT_TRUE(FindFewWaited(Waited({18, 19}), 0.03).has_value());
  const StepTable steps = Waited({17, 18, 19});
  const std::optional<StepShift> few = FindFewWaited(steps, 0.03);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->first_step, 17);
  EXPECT_FALSE(few->in_some_steps());
  EXPECT_NEAR(few->lost_seconds(), 2, 1e-9);
  const TimeLedger ledger = BuildLedger(steps, {}, few, SumOf);
  EXPECT_NEAR(ledger.reference_seconds, 1, 1e-9);
  EXPECT_NEAR(ledger.unexplained_seconds, 0.3, 1e-9);
}

TEST(FindFewWaitedTest, PausesAndWhatCostsLittleAreNone) {
  StepTable paused = Waited({8, 13});
  paused.waited.assign(20, 0);
  EXPECT_FALSE(FindFewWaited(paused, 0.03).has_value());
  EXPECT_NEAR(BuildLedger(paused, {}, std::nullopt, SumOf).measured_seconds, 1, 1e-9);
  EXPECT_FALSE(FindFewWaited(Waited({8, 13}), 0.3).has_value());
}

TEST(FindLongerStepsTest, StepsThatAreLongerByDifferentAmountsAreLonger) {
  const std::vector<int> longer = {8, 9, 13, 14, 15, 17, 20, 22, 23, 25, 26, 29, 31, 32, 35, 36, 38, 39};
  StepTable steps = SomeLonger(longer, 1.3);
  for (size_t i = 0; i < longer.size(); ++i) steps.step_seconds[static_cast<size_t>(longer[i])] += 0.35 * (i % 3);
  const std::optional<StepShift> shift = FindLongerSteps(steps, 0.03);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->first_step, 8);
  EXPECT_NEAR(shift->share, 18.0 / 32, 1e-9);
  EXPECT_NEAR(shift->before_seconds, 1, 0.01);
  EXPECT_NEAR(shift->after_seconds, 1.65, 0.02);
}

TEST(SlowForUnknownReasonTest, IsNotSaidOfWhatFindingsExplain) {
  EXPECT_FALSE(Unknown(Steps(1.3, 0.01), {Finding(10, 0.28)}).has_value());
  EXPECT_TRUE(Unknown(Steps(1.3, 0.01), {Finding(10, 0.1)}).has_value());
  EXPECT_TRUE(Unknown(Steps(1.3, 0.01), {Finding(0, 0.28)}).has_value()) << "it was there before";
}

TEST(FindLongerStepsTest, NoneAmongStepsThatDifferByARounding) {
  StepTable steps = Steps(1.0);
  const double lower = std::nextafter(1.0, 2);
  for (size_t step = 0; step < 20; ++step) steps.step_seconds[step] = step < 14 ? lower : std::nextafter(lower, 2);
  EXPECT_FALSE(FindLongerSteps(steps, 0.03).has_value());
}

TEST(SlowForUnknownReasonTest, IsNotSaidOfStepsThatTakeAsLongAsBefore) {
  EXPECT_FALSE(Unknown(Steps(1.02, 0.002), {}).has_value()) << "below what counts";
  EXPECT_FALSE(Unknown(Steps(1.0, 0.05), {}).has_value());
  EXPECT_FALSE(Unknown(Steps(0.8, 0.01), {}).has_value());
}

}  // namespace
}  // namespace lockstep
