#include "detector/steps/judged_steps.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "detector/steps/step_table.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Flags = std::vector<char>;

struct Step {
  double seconds = 1;
  double inside_seconds = 0.4;
  uint32_t calls = 10;
};

// Each of three ranks does the same; two operations are inside of each other, and the longer one counts.
StepTable Judged(const std::vector<Step>& steps) {
  Trace trace;
  StepTable table{.steps = static_cast<int32_t>(steps.size()), .ranks = 3};
  for (size_t rank = 0; rank < table.ranks; ++rank) {
    int64_t now_ns = 0;
    for (const Step& step : steps) {
      const auto begin = static_cast<uint32_t>(trace.operations.size());
      const auto inside_ns = static_cast<int64_t>(step.inside_seconds * 1e9);
      for (uint32_t call = 0; call < step.calls; ++call) {
        const bool outer = call == 0;
        trace.operations.push_back({.enqueue_ns = now_ns,
                                    .start_ns = now_ns + (outer ? 0 : inside_ns / 4),
                                    .end_ns = now_ns + (outer ? inside_ns : inside_ns / 2)});
      }
      table.ranges.push_back({begin, begin + step.calls, true});
      now_ns += static_cast<int64_t>(step.seconds * 1e9);
    }
  }
  for (const Step& step : steps) table.step_seconds.push_back(step.seconds);
  JudgeSteps(trace, &table);
  return table;
}

TEST(JudgedStepsTest, EqualStepsAreUsual) {
  const StepTable table = Judged(std::vector<Step>(9));
  EXPECT_EQ(table.usual, Flags(9, 1));
  EXPECT_EQ(table.waited, Flags(9, 0));
  EXPECT_DOUBLE_EQ(table.usual_seconds, 1);
  EXPECT_DOUBLE_EQ(table.usual_spread_seconds, 0);
}

TEST(JudgedStepsTest, OfNoStepsNothingIsSaid) {
  EXPECT_TRUE(Judged({}).usual.empty());
  EXPECT_DOUBLE_EQ(Judged({}).usual_seconds, 0);
}

TEST(JudgedStepsTest, AnEvaluationIsShorterAndMakesFarFewerCalls) {
  std::vector<Step> steps(9);
  steps[4] = {.seconds = 0.3, .inside_seconds = 0.1, .calls = 7};
  EXPECT_EQ(Judged(steps).usual, (Flags{1, 1, 1, 1, 0, 1, 1, 1, 1}));
  steps[4].calls = 8;
  EXPECT_EQ(Judged(steps).usual, Flags(9, 1)) << "some records are lost";
  steps[4] = {.seconds = 1, .calls = 7};
  EXPECT_EQ(Judged(steps).usual, Flags(9, 1)) << "as long as others";
}

TEST(JudgedStepsTest, ALongerStepInWhichRanksWaitIsToldFromAPause) {
  std::vector<Step> steps(9);
  steps[3] = {.seconds = 2, .inside_seconds = 1.4};
  steps[6] = {.seconds = 2};
  const StepTable table = Judged(steps);
  EXPECT_EQ(table.usual, (Flags{1, 1, 1, 0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(table.waited, (Flags{0, 0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(table.usual_seconds, 1);
}

TEST(JudgedStepsTest, OfOtherCallsThanUsualNobodyKnowsWhetherRanksWaited) {
  std::vector<Step> steps(9);
  steps[3] = {.seconds = 2, .inside_seconds = 1.4, .calls = 12};
  EXPECT_EQ(Judged(steps).waited, Flags(9, 0));
}

TEST(JudgedStepsTest, ManyThatAreLongerBecauseRanksWaitAreUsual) {
  std::vector<Step> steps(24);
  for (const size_t step : {3u, 5u, 10u, 17u}) steps[step] = {.seconds = 2, .inside_seconds = 1.4};
  const StepTable table = Judged(steps);
  EXPECT_EQ(table.usual, Flags(24, 1));
  EXPECT_EQ(table.waited, Flags(24, 0));
}

TEST(JudgedStepsTest, InTheFirstStepNobodyIsSaidToWait) {
  std::vector<Step> steps(9);
  steps[0] = steps[5] = {.seconds = 2, .inside_seconds = 1.4};
  const StepTable table = Judged(steps);
  EXPECT_EQ(table.usual[0], 0);
  EXPECT_EQ(table.waited, (Flags{0, 0, 0, 0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace lockstep
