#include "detector/steps/usual_steps.h"

#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Flags = std::vector<char>;
using Seconds = std::vector<double>;

TEST(UsualStepsTest, AreNoneWhereNoLengthIsKnown) {
  EXPECT_EQ(FindUsualSteps({}), Flags());
  EXPECT_EQ(FindUsualSteps(Seconds{0, 0, 0, 0, 0}), Flags(5, 0));
}

TEST(UsualStepsTest, LeaveOutWhatPasses) {
  EXPECT_EQ(FindUsualSteps(Seconds{14, 1, 1, 1.01, 1, 2, 1, 1.02, 1}), (Flags{0, 1, 1, 1, 1, 0, 1, 1, 1}));
}

TEST(UsualStepsTest, KeepALevelThatTheJobWentOverTo) {
  EXPECT_EQ(FindUsualSteps(Seconds{1, 1, 1, 1, 1, 1, 1, 1.5, 1.52, 1.49, 1.5}), Flags(11, 1));
}

TEST(UsualStepsTest, KeepALevelThatTheJobCameBackFrom) {
  EXPECT_EQ(FindUsualSteps(Seconds{1, 1, 1, 1, 1, 1, 3, 3.1, 3, 2.9, 1, 1, 1}), Flags(13, 1));
}

TEST(UsualStepsTest, ThreeLongStepsAreNoLevelYet) {
  EXPECT_EQ(FindUsualSteps(Seconds{1, 1, 1, 1, 1, 1, 1, 1.5, 1.52, 1.49}), (Flags{1, 1, 1, 1, 1, 1, 1, 0, 0, 0}));
}

TEST(UsualStepsTest, LongStepsOfUnequalLengthAreNoLevel) {
  EXPECT_EQ(FindUsualSteps(Seconds{1, 1, 1, 1, 1, 1, 2, 4, 3, 6, 1, 1}), (Flags{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1}));
}

TEST(UsualStepsTest, AnUnknownStepEndsALevel) {
  EXPECT_EQ(FindUsualSteps(Seconds{1, 1, 1, 1, 1, 1, 2, 2, 0, 2, 2}), (Flags{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(UsualStepsTest, AJobThatWarmsUpIsSlowAtFirst) {
  const Flags warm = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  // The middle of all is that of a fault from the sixth step on.
  EXPECT_EQ(FindUsualSteps(Seconds{0, 0.72, 0.72, 0.73, 0.42, 0.46, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61}), warm);
  EXPECT_EQ(FindUsualSteps(Seconds{0.3, 0.72, 0.72, 0.73, 0.42, 0.46, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61, 0.61}), warm);
}

TEST(UsualStepsTest, AWarmUpMayFallTowardsWhatFollows) {
  // And the job becomes slower soon after.
  const Flags warm = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(FindUsualSteps(Seconds{0.95, 0.76, 0.65, 0.54, 0.55, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68}), warm);
}

TEST(UsualStepsTest, StepsOfManyLengthsMayFallByChance) {
  const Seconds lengths{0.9, 0.95, 0.7, 0.6, 0.5, 0.9, 0.55, 0.8, 0.5, 0.95, 0.6, 0.75};
  EXPECT_EQ(FindUsualSteps(lengths)[2], 1);
}

TEST(UsualStepsTest, FourLongStepsAtTheStartAreALevel) {
  EXPECT_EQ(FindUsualSteps(Seconds{2, 2, 2, 2, 1, 1, 1, 1, 1, 1}), Flags(10, 1));
  EXPECT_EQ(FindUsualSteps(Seconds{2, 2, 2, 1, 1, 1, 1, 1, 1, 1}), (Flags{0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(UsualStepsTest, OneQuickStepEndsNoWarmUp) {
  EXPECT_EQ(FindUsualSteps(Seconds{2, 2, 1, 2, 2, 2, 2, 2}), Flags(8, 1));
}

// Steps of 1 s, of which ranks are inside operations for 0.3 s, and what is added to either.
Flags WithWaited(const Seconds& longer, const Seconds& waited) {
  Seconds seconds, inside;
  for (size_t step = 0; step < longer.size(); ++step) {
    seconds.push_back(1 + longer[step]);
    inside.push_back(0.3 + waited[step]);
  }
  Flags usual = FindUsualSteps(seconds);
  const Flags found = FindWaitedSteps(seconds, inside, usual);
  for (size_t step = 0; step < found.size(); ++step) usual[step] |= found[step];
  return usual;
}

TEST(UsualStepsTest, StepsInWhichRanksWaitForSomebodyAreUsual) {
  const Seconds longer = {0, 0, 0.5, 0, 0.6, 0.5, 0, 0, 0, 0.5, 0, 0, 0, 0};
  EXPECT_EQ(WithWaited(longer, longer), Flags(14, 1));
  Flags paused(14, 1);
  for (const size_t step : {2u, 4u, 5u, 9u}) paused[step] = 0;
  EXPECT_EQ(WithWaited(longer, Seconds(14, 0)), paused) << "all are outside: a pause";
}

TEST(UsualStepsTest, RegularWaitsArePauses) {
  Seconds every_sixth(26, 0), every_third(26, 0);
  for (size_t step = 2; step < 26; step += 6) every_sixth[step] = 0.5;
  for (size_t step = 2; step < 26; step += 3) every_third[step] = 0.5;
  EXPECT_NE(WithWaited(every_sixth, every_sixth), Flags(26, 1));
  EXPECT_EQ(WithWaited(every_third, every_third), Flags(26, 1)) << "nobody plans that much of them";
}

}  // namespace
}  // namespace lockstep
