#include "detector/steps/number_shifts.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(NumberShiftsTest, GroupsThatNeverMeetKeepTheirNumbers) {
  EXPECT_EQ(NumberShifts({}, 3), (std::vector<int32_t>{0, 0, 0}));
}

TEST(NumberShiftsTest, TheMostFrequentDifferenceOfTwoGroupsCounts) {
  const NumberVotes votes = {{{0, 1}, {{2, 5}, {3, 1}}}};
  EXPECT_EQ(NumberShifts(votes, 2), (std::vector<int32_t>{0, -2}));
}

TEST(NumberShiftsTest, OneWrongVoteOfAPairIsNothingAgainstManyOverOthers) {
  // Groups 0 and 2 met once, beside a lost record; over group 1 they met a hundred times.
  const NumberVotes votes = {{{0, 1}, {{0, 100}}}, {{0, 2}, {{1, 1}}}, {{1, 2}, {{0, 100}, {-1, 4}}}};
  EXPECT_EQ(NumberShifts(votes, 3), (std::vector<int32_t>{0, 0, 0}));
}

TEST(NumberShiftsTest, ManyVotesThatDisagreeAreWorthLessThanFewThatAgree) {
  const NumberVotes votes = {{{0, 1}, {{0, 50}, {1, 49}}}, {{0, 2}, {{1, 5}}}, {{1, 2}, {{0, 5}}}};
  EXPECT_EQ(NumberShifts(votes, 3), (std::vector<int32_t>{0, -1, -1}));
}

TEST(NumberShiftsTest, PlantedShiftsComeBackFromVotesOfWhichATenthAreWrong) {
  Random random(7);
  constexpr int32_t kGroups = 12;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<int32_t> ahead(kGroups);
    for (int32_t& of_group : ahead) of_group = static_cast<int32_t>(random.Below(7)) - 3;
    NumberVotes votes;
    const auto meet = [&](int32_t a, int32_t b, int times) {
      if (b < a) std::swap(a, b);
      for (int i = 0; i < times; ++i) {
        const int32_t wrong = random.Below(10) == 0 ? 1 : 0;
        ++votes[{a, b}][ahead[static_cast<size_t>(b)] - ahead[static_cast<size_t>(a)] + wrong];
      }
    };
    for (int32_t group = 1; group < kGroups; ++group)
      meet(group, static_cast<int32_t>(random.Below(static_cast<uint64_t>(group))), 64);
    const std::vector<int32_t> shifts = NumberShifts(votes, kGroups);
    for (size_t group = 0; group < kGroups; ++group) {
      EXPECT_EQ(shifts[group] + ahead[group], shifts[0] + ahead[0]) << "group " << group << " of trial " << trial;
    }
  }
}

}  // namespace
}  // namespace lockstep
