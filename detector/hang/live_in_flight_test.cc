#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "detector/hang/live_hangs.h"
#include "detector/hang/live_hangs_fixture.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using LiveInFlightTest = LiveHangsFixture;

// Rank 2 has two calls in flight while all others have four; all are inside of the first.
TEST_F(LiveInFlightTest, WhoStoppedCallingInsideIsDeadUnlessItsProcessIsKnownToRun) {
  for (const ProcessState state : {ProcessState::kRunning, ProcessState::kUnknown}) {
    for (int32_t rank = 0; rank < 8; ++rank) {
      Place place{.id = 1, .size = 8, .member = rank};
      for (uint64_t i = 0; i < (rank == 2 ? 2 : 4); ++i) place.called.push_back({.sequence = 5 + i, .begun = i == 0});
      TellAll(rank, {place}, 6 * kSecond, -1, kNow, state);
    }
    const std::vector<Verdict> verdicts = Verdicts();
    ASSERT_EQ(verdicts.size(), 1u);
    const bool known = state != ProcessState::kUnknown;
    EXPECT_EQ(verdicts[0].verdict_class, known ? VerdictClass::kHangInCommunication : VerdictClass::kProcessDead);
    EXPECT_EQ(RanksOf(verdicts[0]), known ? std::vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7}) : std::vector<int32_t>({2}));
  }
}

// Of eight members one tells nothing. All others wait inside, but for the GPU of rank 3, whose host has called as well.
TEST_F(LiveInFlightTest, AGpuThatHasNotBegunIsNamedAlthoughAMemberIsNotHeardOf) {
  for (const bool has_begun : {false, true}) {
    roster_ = Roster(RosterLimits{});
    for (int32_t rank = 0; rank < 7; ++rank) {
      TellAll(rank,
              {{.id = 1, .size = 8, .member = rank, .called = {{.sequence = 5, .begun = rank != 3 || has_begun}}}});
    }
    const std::vector<Verdict> verdicts = Verdicts();
    if (has_begun) {
      EXPECT_TRUE(verdicts.empty()) << "the one that is not heard of may be the cause";
      continue;
    }
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
    EXPECT_EQ(RanksOf(verdicts[0]), std::vector<int32_t>({3}));
  }
}

// A recorder calls what it has not seen begin enqueued, whatever it would have seen. Its newest record tells which.
TEST_F(LiveInFlightTest, WhetherAnOperationHasNotBegunOrItsBeginIsNotSeenIsTakenFromTheNewestRecord) {
  for (const TimingQuality newest : {TimingQuality::kGpuTimer, TimingQuality::kHostEnqueue}) {
    roster_ = Roster(RosterLimits{});
    for (int32_t rank = 0; rank < 2; ++rank) {
      const bool begun = rank == 0;
      RankView view{.rank = rank, .pid = 10 + rank, .process_state = ProcessState::kRunning};
      CommunicatorView at{.id = 1, .size = 2, .communicator_rank = rank};
      at.enqueued = 5;
      at.finished = 4;
      at.idle_ns = 6 * kSecond;
      const auto record = [](uint64_t sequence, TimingQuality quality) {
        const auto time_ns = static_cast<int64_t>(sequence) * kSecond;
        return Operation{.kind = OperationKind::kAllReduce,
                         .sequence = sequence,
                         .enqueue_ns = time_ns,
                         .start_ns = time_ns + 1,
                         .end_ns = time_ns + 2,
                         .quality = quality};
      };
      at.operations = {record(3, TimingQuality::kGpuTimer), record(4, newest)};
      at.oldest_in_flight =
          InFlightOperation{.kind = OperationKind::kAllReduce,
                            .sequence = 5,
                            .started = begun,
                            .age_ns = 5 * kSecond,
                            .inside_ns = begun ? 5 * kSecond : 0,
                            .bytes = 8,
                            .timing_quality = begun ? TimingQuality::kGpuTimer : TimingQuality::kHostEnqueue};
      at.further_in_flight.emplace();
      view.communicators = {at};
      const int32_t host = roster_.TouchHost("h" + std::to_string(rank), kNow);
      roster_.Update(host, view, kNow, 0);
      roster_.Join(roster_.SlotOfRank(rank), at);
    }
    const std::vector<Verdict> verdicts = Verdicts();
    ASSERT_EQ(verdicts.size(), 1u);
    const bool tells = newest == TimingQuality::kGpuTimer;
    EXPECT_EQ(verdicts[0].verdict_class, tells ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication);
    EXPECT_EQ(RanksOf(verdicts[0]), tells ? std::vector<int32_t>({1}) : std::vector<int32_t>({0, 1}));
  }
}

// Four are inside of one operation. Of four others one has not come to theirs; its newest call may be lost.
TEST_F(LiveInFlightTest, WhereRecordersLoseCallsTheCauseThatNoLossShowsIsNamed) {
  for (const uint64_t lost : {0, 5}) {
    lost_of_hundred_ = lost;
    roster_ = Roster(RosterLimits{});
    for (int32_t rank = 0; rank < 8; ++rank) {
      Place place{.id = rank < 4 ? 1U : 2U, .size = 4, .member = rank % 4};
      if (rank != 7) place.called.push_back({.sequence = 5, .begun = true});
      TellAll(rank, {place});
    }
    std::vector<std::vector<int32_t>> named;
    for (const Verdict& verdict : Verdicts()) named.push_back(RanksOf(verdict));
    std::sort(named.begin(), named.end());
    const std::vector<std::vector<int32_t>> stuck = {{0, 1, 2, 3}}, both = {{0, 1, 2, 3}, {7}};
    EXPECT_EQ(named, lost > 0 ? stuck : both);
  }
}

// The GPU of rank 0 has not begun the AllReduce in which 1 waits, and has begun a Recv that was called after it; 1 will
// send when the AllReduce is over.
TEST_F(LiveInFlightTest, WhatWasCalledLaterDoesNotHoldUpWhatWasCalledBefore) {
  TellAll(0, {{1, 2, 0, {{.sequence = 5}}}, {2, 2, 0, {{.kind = OperationKind::kRecv, .begun = true, .peer = 1}}}});
  TellAll(1, {{1, 2, 1, {{.sequence = 5, .begun = true}}}, {2, 2, 1, {}}});
  std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);  // ages may be those of begins
  // Each has finished an operation that began later than it was called.
  for (int32_t rank = 0; rank < 2; ++rank) {
    const Operation began_later{
        .kind = OperationKind::kAllReduce, .sequence = 1, .enqueue_ns = 1, .start_ns = 2, .end_ns = 3};
    const CommunicatorView at{
        .id = 3, .size = 2, .communicator_rank = rank, .idle_ns = 6 * kSecond, .operations = {began_later}};
    const RankView view{.rank = rank,
                        .pid = 10 + rank,
                        .process_state = ProcessState::kRunning,
                        .operations_enqueued = 100,
                        .communicators = {at}};
    roster_.Update(roster_.TouchHost("h" + std::to_string(rank), kNow), view, kNow, 0);
    roster_.Join(roster_.SlotOfRank(rank), at);
  }
  verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(RanksOf(verdicts[0]), std::vector<int32_t>({0}));
}

// Both hosts have called both operations, in different order; the GPUs have begun one each.
TEST_F(LiveInFlightTest, OperationsCalledInCrossedOrderAreADeadlockOfTwo) {
  TellAll(0, {{1, 2, 0, {{.sequence = 5, .begun = true}}}, {2, 2, 0, {{.sequence = 5}}}});
  TellAll(1, {{2, 2, 1, {{.sequence = 5, .begun = true}}}, {1, 2, 1, {{.sequence = 5}}}});
  TellAll(2, {{3, 2, 0, {}}});  // of another job's part: it waits for nobody
  TellAll(3, {{3, 2, 1, {}}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1}));
}

// Of four, one entered the world's operation before that of its group; the others wait in the group.
TEST_F(LiveInFlightTest, WhoCalledInAnotherOrderThanMostIsNamedAlone) {
  TellAll(0, {{1, 4, 0, {{.sequence = 5, .begun = true}}}, {2, 4, 0, {{.sequence = 5}}}});
  for (int rank = 1; rank < 4; ++rank) {
    TellAll(rank, {{2, 4, rank, {{.sequence = 5, .begun = true}}}, {1, 4, rank, {{.sequence = 5}}}});
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), std::vector<int32_t>{0});
}

TEST_F(LiveInFlightTest, ThreeThatWaitRoundOverThreeCommunicatorsAreADeadlockAndTheFourthAVictim) {
  for (int rank = 0; rank < 3; ++rank) {
    const CommunicatorId own = 10 + static_cast<CommunicatorId>(rank);
    const CommunicatorId before = 10 + static_cast<CommunicatorId>((rank + 2) % 3);
    TellAll(rank,
            {{own, 2, 0, {{.sequence = 5, .begun = true}}}, {before, 2, 1, {{.sequence = 5}}}, {20, 4, rank, {}}});
  }
  TellAll(3, {{20, 4, 3, {{.sequence = 5, .begun = true}}}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(LiveInFlightTest, SendsThatWaitRoundForReceivesThatNobodyHasCalledAreADeadlock) {
  for (int rank = 0; rank < 3; ++rank) {
    TellAll(rank, {{1, 4, rank, {{OperationKind::kSend, 7, true, (rank + 1) % 3}}}});
  }
  TellAll(3, {{1, 4, 3, {{OperationKind::kRecv, 7, true, 0}}}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(LiveInFlightTest, ATransferBetweenTwoIsStuckAlthoughOthersAreCalledBesideIt) {
  TellAll(0, {{1, 3, 0, {{OperationKind::kSend, 7, true, 1}, {OperationKind::kRecv, 7, true, 2}}}});
  TellAll(1, {{1, 3, 1, {{OperationKind::kRecv, 7, true, 0}}}});
  TellAll(2, {{1, 3, 2, {{OperationKind::kRecv, 3, true, 1}}}});  // waits for 1, and 0 for it
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1}));
}

// Hosts have called eight operations six seconds ago; GPUs come to one after the other.
TEST_F(LiveInFlightTest, CallsFarAheadOfTheGpuAccuseNobody) {
  for (const bool begins_seen : {true, false}) {
    roster_ = Roster(RosterLimits{});
    for (int64_t second = 0; second < 6; ++second) {
      for (int rank = 0; rank < 3; ++rank) {
        Place place{1, 3, rank, {}, 20};
        for (uint64_t i = 0; i < 8; ++i) place.called.push_back({.sequence = 5 + static_cast<uint64_t>(second) + i});
        place.called.front().begun = begins_seen;
        TellAll(rank, {place}, 6 * kSecond, kSecond / 10, kNow - (5 - second) * kSecond);
      }
    }
    EXPECT_TRUE(Verdicts().empty());
    EXPECT_EQ(Judge().stuck_ranks, 0);
  }
}

TEST_F(LiveInFlightTest, OfTheSameOperationsThatDoNotMoveTheTransferIsStuck) {
  for (int64_t second = 0; second < 7; ++second) {
    for (int rank = 0; rank < 3; ++rank) {
      TellAll(rank, {{1, 3, rank, {{.sequence = 5}, {.sequence = 6}}, 20}}, 6 * kSecond + second * kSecond, -1,
              kNow - (6 - second) * kSecond);
    }
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace lockstep
