// The evaluation must be able to fail: a comparison that is broken on purpose has to look broken. And simulated jobs
// are what they are said to be.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/testing/sim_clock.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"
#include "eval/patterns/pattern_method.h"
#include "eval/patterns/pattern_suite.h"
#include "eval/patterns/pattern_summary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/patterns/pattern_job.h"
#include "sim/patterns/pattern_kinds.h"

namespace lockstep {
namespace {

using Judge = std::function<std::vector<PatternAnswer>(const PatternFleet&)>;

constexpr int32_t kEpisodes = 160;  // every kind twice

PatternSummary SummaryOf(const PatternSuite& suite, const Judge& judge) {
  const SimClock clock;
  const std::vector<PatternMethod> methods = {{"lockstep", "test", judge}};
  return SummarizePatterns(suite, methods, RunPatternSuite(suite, 0, kEpisodes, 1, methods, clock, {}));
}

double ShareRight(const Judge& judge) {
  const PatternSummary summary = SummaryOf(AllPatternSuites()[0], judge);
  EXPECT_EQ(summary.failures.total(), kEpisodes - summary.methods[0].all.right.successes);
  return summary.methods[0].all.right.share();
}

std::vector<PatternAnswer> Intact(const PatternFleet& fleet) { return AnswersOf(fleet, ComparePatterns(fleet)); }

TEST(PatternSabotageTest, WhatIsIntactIsRight) {
  EXPECT_GE(ShareRight(Intact), 0.95);
  const PatternSummary healthy = SummaryOf(AllPatternSuites()[1], Intact);
  EXPECT_EQ(healthy.methods[0].innocents.successes, 0);
  for (const Measure& measure : PatternMeasuresOf({healthy})) EXPECT_TRUE(measure.met) << measure.measured;
}

TEST(PatternSabotageTest, WithoutDeltaFaultsOfSomeAreLost) {
  EXPECT_LE(ShareRight([](const PatternFleet& fleet) {
              return AnswersOf(fleet, ComparePatterns(fleet, {.judges_some = false}));
            }),
            0.6);
}

TEST(PatternSabotageTest, WithoutDFaultsOfAllAreLost) {
  EXPECT_LE(ShareRight([](const PatternFleet& fleet) {
              return AnswersOf(fleet, ComparePatterns(fleet, {.judges_all = false}));
            }),
            0.6);
}

TEST(PatternSabotageTest, NamingTheNeighbourMakesTheFiguresCollapse) {
  const Judge neighbour = [](const PatternFleet& fleet) {
    std::vector<PatternAnswer> answers = Intact(fleet);
    for (PatternAnswer& answer : answers) {
      for (int32_t& rank : answer.ranks) ++rank;
    }
    return answers;
  };
  const PatternSummary broken = SummaryOf(AllPatternSuites()[0], neighbour);
  EXPECT_LE(broken.methods[0].all.right.share(), 0.6);
  EXPECT_GE(broken.methods[0].innocents.share(), 0.4);
  for (const Measure& measure : PatternMeasuresOf({broken})) EXPECT_FALSE(measure.met) << measure.name;
}

TEST(PatternSabotageTest, AnotherFunctionOrASecondCauseIsWrong) {
  EXPECT_LE(ShareRight([](const PatternFleet& fleet) {
              std::vector<PatternAnswer> answers = Intact(fleet);
              for (PatternAnswer& answer : answers) answer.function = -1;
              return answers;
            }),
            0.01);
  EXPECT_LE(ShareRight([](const PatternFleet& fleet) {
              std::vector<PatternAnswer> answers = Intact(fleet);
              answers.push_back({PatternClass::kRecompilation, false, {0}, 0});
              return answers;
            }),
            0.01);
}

TEST(PatternJobTest, EveryKindIsDrawnOnWorkersThatExist) {
  EXPECT_EQ(AllPatternKinds().size(), 80u);
  std::set<std::string> descriptions;
  for (uint64_t number = 0; number < 400; ++number) {
    const PatternJobSpec spec = PatternPlanOf(AllPatternSuites()[0], number);
    ASSERT_NE(spec.fault, nullptr);
    EXPECT_EQ(spec.faulty.empty(), spec.fault->of_all);
    EXPECT_EQ(spec.workers % spec.stages, 0);
    for (const uint32_t worker : spec.faulty) EXPECT_LT(static_cast<int32_t>(worker), spec.workers);
    descriptions.insert(Describe(spec));
  }
  EXPECT_EQ(descriptions.size(), 400u);
}

TEST(PatternJobTest, TheSameSeedGivesTheSameProfiles) {
  const PatternJobSpec spec = PatternPlanOf(AllPatternSuites()[0], 7);
  const PatternFleet first = SimulatePatterns(spec);
  const PatternFleet second = SimulatePatterns(spec);
  ASSERT_EQ(first.functions().size(), second.functions().size());
  for (size_t i = 0; i < first.functions().size(); ++i) {
    ASSERT_EQ(first.functions()[i].cells.size(), second.functions()[i].cells.size());
    for (size_t j = 0; j < first.functions()[i].cells.size(); ++j) {
      EXPECT_EQ(first.functions()[i].cells[j].beta, second.functions()[i].cells[j].beta);
    }
  }
}

TEST(PatternJobTest, SharesOfAWorkerAreShares) {
  for (uint64_t number = 0; number < 80; ++number) {
    const PatternFleet fleet = SimulatePatterns(PatternPlanOf(AllPatternSuites()[0], number));
    std::vector<double> sums(fleet.workers().size(), 0);
    for (const FleetFunction& function : fleet.functions()) {
      for (const PatternCell& cell : function.cells) sums[cell.worker] += static_cast<double>(cell.beta);
    }
    EXPECT_LE(*std::max_element(sums.begin(), sums.end()), 1.02) << number;
    EXPECT_GE(*std::min_element(sums.begin(), sums.end()), 0.3) << number << ": only a few functions are lost";
  }
}

}  // namespace
}  // namespace lockstep
