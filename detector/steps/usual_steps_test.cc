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

}  // namespace
}  // namespace lockstep
