#include "detector/hang/hang_timeout.h"

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Two ranks that have finished so many operations in 100 s of life.
Roster TwoRanks(uint64_t finished_first, uint64_t finished_second, uint64_t start_ticks = 50'000) {
  Roster roster(RosterLimits{});
  const int32_t host = roster.TouchHost("a", 1);
  for (const int32_t rank : {0, 1}) {
    RankView view{.rank = rank, .process_start_ticks = start_ticks};
    CommunicatorView world{.id = 1, .size = 2, .communicator_rank = rank};
    world.finished = rank == 0 ? finished_first : finished_second;
    roster.Update(host, view, 1, 600 * kSecond);
    roster.Join(roster.SlotOfRank(rank), world);
  }
  return roster;
}

TEST(HangTimeoutTest, IsAMultipleOfTheLongestUsualStepAndNotBelowTheFloor) {
  const Roster roster = TwoRanks(1, 1);
  EXPECT_EQ(HangTimeoutNs(roster, 0.1, {}), 4 * kSecond);
  EXPECT_EQ(HangTimeoutNs(roster, 10, {}), 50 * kSecond);
}

TEST(HangTimeoutTest, WithoutStepsTheCountersTellHowFastTheJobWas) {
  EXPECT_EQ(HangTimeoutNs(TwoRanks(1000, 1000), 0, {}), 10 * kSecond);  // 0.1 s each
  EXPECT_EQ(HangTimeoutNs(TwoRanks(125, 125), 0, {}), 16 * kSecond);    // 0.8 s each
  EXPECT_EQ(HangTimeoutNs(TwoRanks(1000, 125), 0, {}), 16 * kSecond);   // the slower one counts
}

TEST(HangTimeoutTest, WithoutEnoughToGoByItIsLong) {
  EXPECT_EQ(HangTimeoutNs(TwoRanks(99, 1000), 0, {}), kUnknownHangTimeoutNs);
  EXPECT_EQ(HangTimeoutNs(TwoRanks(1000, 1000, 70'000), 0, {}), kUnknownHangTimeoutNs);  // begins in the future
  EXPECT_EQ(HangTimeoutNs(TwoRanks(1000, 1000, 0), 0, {}), kUnknownHangTimeoutNs);       // not known
  EXPECT_EQ(HangTimeoutNs(Roster(RosterLimits{}), 0, {}), kUnknownHangTimeoutNs);
}

TEST(HangTimeoutTest, StartUpIsOverWhenEveryMemberHasBeenThroughAFewOperations) {
  EXPECT_FALSE(StartedUp(Roster(RosterLimits{}), -1));
  EXPECT_FALSE(StartedUp(TwoRanks(3, 2), -1));
  EXPECT_TRUE(StartedUp(TwoRanks(3, 3), -1));
  EXPECT_TRUE(StartedUp(TwoRanks(3, 3), 0));
}

}  // namespace
}  // namespace lockstep
