#include "detector/hang/hang_timeout.h"

#include <limits>

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

// Two members, one of them inside an AllReduce; `known` of these are known, of which the longest took `longest_ns`.
Communicator World(int64_t longest_ns, uint64_t known = 100) {
  Communicator world{.size = 2};
  world.with_data = {.known = known, .longest_ns = longest_ns};
  world.members.resize(2);
  world.members[0].in_flight = InFlightOperation{.kind = OperationKind::kAllReduce};
  return world;
}

TEST(HangTimeoutTest, WhereNoWaitEverTookLongALittleLongerIsEnough) {
  EXPECT_EQ(HangTimeoutIn(World(kSecond), 15 * kSecond, 3, {}), 6 * kSecond);       // two steps
  EXPECT_EQ(HangTimeoutIn(World(2 * kSecond), 15 * kSecond, 3, {}), 10 * kSecond);  // five times the longest
  EXPECT_EQ(HangTimeoutIn(World(4 * kSecond), 15 * kSecond, 3, {}), 15 * kSecond);
  EXPECT_EQ(HangTimeoutIn(World(kSecond / 100), 5 * kSecond, 1, {}), 4 * kSecond);
  EXPECT_EQ(HangTimeoutIn(World(kSecond / 100, 99), 5 * kSecond, 1, {}), 5 * kSecond) << "too few are known";
  EXPECT_EQ(HangTimeoutIn(World(kSecond / 100), 30 * kSecond, 0, {}), 30 * kSecond) << "steps are not known";
}

TEST(HangTimeoutTest, QuickReductionsSayNothingOfABarrier) {
  Communicator world = World(kSecond / 100);
  world.members[1].in_flight = InFlightOperation{.kind = OperationKind::kBarrier};
  EXPECT_EQ(HangTimeoutIn(world, 15 * kSecond, 3, {}), 15 * kSecond) << "no barrier is known";
  world.barriers = {.known = 200, .longest_ns = 2 * kSecond};
  EXPECT_EQ(HangTimeoutIn(world, 15 * kSecond, 3, {}), 10 * kSecond);
}

TEST(HangTimeoutTest, TheLongestStayIsThatOfAnyMemberAfterItsFirstOperations) {
  Roster roster = TwoRanks(1, 1);
  for (const int64_t duration_ns : {9 * kSecond, kSecond, 2 * kSecond, kSecond}) {
    for (const int32_t rank : {0, 1}) {
      CommunicatorView world{.id = 1, .size = 2, .communicator_rank = rank};
      world.operations = {{.end_ns = duration_ns}, {.end_ns = 50 * kSecond, .quality = TimingQuality::kHostEnqueue}};
      roster.Join(roster.SlotOfRank(rank), world);
    }
  }
  EXPECT_EQ(roster.communicator(0).with_data.known, 8u);
  EXPECT_EQ(roster.communicator(0).with_data.longest_ns, kSecond);  // of the first three of each, nothing counts
  EXPECT_EQ(roster.communicator(0).barriers.known, 0u);
}

TEST(HangTimeoutTest, StartUpIsOverWhenEveryMemberHasBeenThroughAFewOperations) {
  EXPECT_FALSE(StartedUp(Roster(RosterLimits{})));
  EXPECT_FALSE(StartedUp(TwoRanks(3, 2)));
  EXPECT_TRUE(StartedUp(TwoRanks(3, 3)));
}

TEST(HangTimeoutTest, BeforeTheStartUpIsOverOnlyAJobThatHasDoneMuchMayHang) {
  EXPECT_EQ(StartUpTimeoutNs(TwoRanks(1, 2)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(StartUpTimeoutNs(TwoRanks(2, 2)), kStartUpTimeoutNs);
}

}  // namespace
}  // namespace lockstep
