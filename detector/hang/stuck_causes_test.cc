// What several things that stand still have as their one cause, in records that were looked at a minute later.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/testing/asked_trace.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kLookedAt = 60'000 * kMilli;

// Eight ranks on four hosts, one group of all ("world") and the pair of ranks 0 and 1; ten collectives have ended.
class StuckCausesTest : public ::testing::Test {
 protected:
  StuckCausesTest() {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const int32_t host = builder_.AddHost(absl::StrCat("h", rank / 2));
      handles_.push_back(builder_.AddRank({.rank = rank, .host = host, .last_seen_ns = kLookedAt}));
    }
    world_ = builder_.AddCommunicator("world", "", kRanks);
    pair_ = builder_.AddCommunicator("pair", "", 2);
    for (int32_t rank = 0; rank < kRanks; ++rank) builder_.AddMember(world_, rank, Handle(rank));
    for (int32_t rank = 0; rank < 2; ++rank) builder_.AddMember(pair_, rank, Handle(rank));
    for (uint64_t call = 0; call < kEnded; ++call) {
      for (int32_t rank = 0; rank < kRanks; ++rank) {
        const auto at = static_cast<int64_t>(call) * 10;
        Collective(rank, call, at, at + 5, at + 8);
      }
    }
  }

  // Milliseconds; kNone = it has not come to that.
  static constexpr int64_t kNone = -1;
  void Collective(int32_t rank, uint64_t sequence, int64_t called, int64_t began, int64_t ended) {
    Add(rank, {.sequence = sequence, .communicator = world_, .kind = OperationKind::kAllReduce}, called, began, ended);
  }
  void Transfer(int32_t rank, OperationKind kind, uint64_t sequence, int64_t called, int64_t began, int64_t ended) {
    Add(rank, {.sequence = sequence, .communicator = pair_, .peer = 1 - rank, .kind = kind}, called, began, ended);
  }
  // All have called it and stand in it; behind it, hosts call until `queue` operations are in flight.
  void AllStandIn(uint64_t sequence, uint64_t queue) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      Collective(rank, sequence, 200, 205, kNone);
      for (uint64_t i = 1; i < queue; ++i) Collective(rank, sequence + i, 200 + static_cast<int64_t>(i), kNone, kNone);
    }
  }

  std::vector<Verdict> Find(uint64_t lost_records = 0) {
    Trace trace = builder_.Build();
    trace.lost_records = lost_records;
    return VerdictsOf(trace, {}, false);
  }
  int32_t Group(const std::string& name, const std::vector<int32_t>& ranks) {
    const int32_t group = builder_.AddCommunicator(name, "", static_cast<int32_t>(ranks.size()));
    for (size_t m = 0; m < ranks.size(); ++m) builder_.AddMember(group, static_cast<int32_t>(m), Handle(ranks[m]));
    return group;
  }

  static constexpr int32_t kRanks = 8;
  static constexpr uint64_t kEnded = 10;
  TraceBuilder builder_{"job"};
  int32_t world_ = -1;
  int32_t pair_ = -1;

  int32_t Handle(int32_t rank) const { return handles_[static_cast<size_t>(rank)]; }
  void Add(int32_t rank, TraceOperation operation, int64_t called, int64_t began, int64_t ended) {
    operation.enqueue_ns = called * kMilli;
    if (began != kNone) operation.start_ns = began * kMilli;
    if (ended != kNone) operation.end_ns = ended * kMilli;
    builder_.Add(Handle(rank), operation);
  }

 private:
  std::vector<int32_t> handles_;
};

TEST_F(StuckCausesTest, WhereAllHaveCalledAsMuchTheTransferIsStuck) {
  AllStandIn(kEnded, 4);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(kRanks));
}

TEST_F(StuckCausesTest, WhoStoppedCallingInsideIsDead) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, 205, kNone);
    if (rank != 5) Collective(rank, kEnded + 1, 201, kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(StuckCausesTest, WhoseHostAndGpuStoppedTogetherIsDead) {
  // Behind what is stuck, GPUs begin one more of another stream; rank 5 has not, and its host is one call behind.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, 205, kNone);
    Collective(rank, kEnded + 1, 201, rank == 5 ? kNone : 210, kNone);
    for (uint64_t i = 2; i < (rank == 5 ? 4 : 5); ++i) Collective(rank, kEnded + i, 202, kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(StuckCausesTest, WhoseHostAloneIsACallBehindIsNotDead) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, 205, kNone);
    Collective(rank, kEnded + 1, 201, 210, kNone);
    for (uint64_t i = 2; i < (rank == 5 ? 4 : 5); ++i) Collective(rank, kEnded + i, 202, kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
}

TEST_F(StuckCausesTest, WhoseGpuHasNotBegunAndWhoseHostStoppedFarBehindIsDead) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, rank == 5 ? kNone : 205, kNone);
    for (uint64_t i = 1; i <= 4 && rank != 5; ++i) Collective(rank, kEnded + i, 201, kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(StuckCausesTest, WhoseGpuIsStuckBeforeWhatOthersStandInIsBehindByACall) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, rank == 5 ? kNone : 205, kNone);
    if (rank != 5) Collective(rank, kEnded + 1, 201, kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(StuckCausesTest, WhoseRecordsEndInsideOfWhatSomeGotOutOfIsTheCause) {
  // Rank 5 died inside: those that needed it no more are one call further, the others are still there.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank == 5) continue;
    const bool is_out = rank % 2 == 0;
    Collective(rank, kEnded, 200, 201, is_out ? 205 : kNone);
    Collective(rank, kEnded + 1, 202, is_out ? 206 : kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(StuckCausesTest, AHostThatCalledLessBecauseItsQueueIsFullIsNotDead) {
  AllStandIn(kEnded, 3);
  // Rank 5 has a transfer in flight instead of the last call.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != 1) Collective(rank, kEnded + 3, 204, kNone, kNone);
  }
  Transfer(1, OperationKind::kRecv, 0, 190, 191, kNone);
  EXPECT_NE(Find().front().verdict_class, VerdictClass::kProcessDead);
}

TEST_F(StuckCausesTest, WhatWasCalledBeforeAllThatARankStandsInIsHeldByItsOwnGpu) {
  // Rank 0 posted its Recv ahead; its GPU does not get to the collective that it called before.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, rank == 0 ? kNone : 205, kNone);
  }
  Transfer(0, OperationKind::kRecv, 0, 210, 210, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{0});
}

TEST_F(StuckCausesTest, WhatStandsBehindAnEarlierCallOfAnotherStreamIsNotHeldByItsGpu) {
  // Gathers run beside scatters of the same communicator, and end before them. Nobody gets out of the scatter; behind
  // it stands the next one, which was called before the gather that rank 6 never called.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const auto call = [&](OperationKind kind, uint64_t number, int64_t began, int64_t ended) {
      Add(rank, {.sequence = kEnded + number, .communicator = world_, .kind = kind}, 200, began, ended);
    };
    call(OperationKind::kReduceScatter, 0, 205, kNone);
    call(OperationKind::kAllGather, 1, 206, 209);
    call(OperationKind::kReduceScatter, 2, kNone, kNone);
    if (rank != 6) call(OperationKind::kAllGather, 3, 210, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{6});
}

TEST_F(StuckCausesTest, ACircleThatALostRecordClosesIsAStuckTransfer) {
  // Each stands in a Recv from the other. Rank 1 has not come to its Send; of the one that rank 0 called before its
  // next there is no record, so that it may stand there.
  for (int32_t rank = 0; rank < 2; ++rank) Transfer(rank, OperationKind::kRecv, 0, 200, 205, kNone);
  Transfer(1, OperationKind::kSend, 0, 206, kNone, kNone);
  Transfer(0, OperationKind::kSend, 1, 206, kNone, kNone);
  const std::vector<Verdict> verdicts = Find(/*lost_records=*/4);
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(Accused(verdicts), (std::set<int32_t>{0, 1}));
}

TEST_F(StuckCausesTest, WhatOthersStoodInAsTheyBeganHoldsNobodyUp) {
  // Ranks 0 and 2 posted a Recv before the collective, each from its neighbour. Rank 0 has begun the collective beside
  // it; rank 2 has not, and its neighbour does not get to its Send before the collective ends.
  const int32_t other = Group("other", {2, 3});
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, rank == 2 ? kNone : 205, kNone);
  }
  Transfer(0, OperationKind::kRecv, 0, 190, 191, kNone);
  Transfer(1, OperationKind::kSend, 0, 210, kNone, kNone);
  Add(2, {.sequence = 0, .communicator = other, .peer = 1, .kind = OperationKind::kRecv}, 190, 191, kNone);
  Add(3, {.sequence = 0, .communicator = other, .peer = 0, .kind = OperationKind::kSend}, 210, kNone, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{2});
}

// Groups of two reduce beside a group of four each. The reduction of ranks 0 and 2 hangs, that of 1 and 3 has ended:
// but it ran when rank 1 began what rank 0 has not begun.
TEST_F(StuckCausesTest, WhatHasEndedSinceHeldNobodyUpEither) {
  const int32_t pair = Group("pair", {0, 2}), other = Group("other", {1, 3});
  const auto reduce = [&](int32_t rank, int32_t group, int64_t ended) {
    Add(rank, {.sequence = 0, .communicator = group, .kind = OperationKind::kReduceScatter}, 190, 191, ended);
  };
  for (const int32_t rank : {0, 2}) reduce(rank, pair, kNone);
  for (const int32_t rank : {1, 3}) reduce(rank, other, 210);
  for (int32_t rank = 0; rank < kRanks; ++rank) Collective(rank, kEnded, 195, rank == 0 ? kNone : 205, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{0});
}

TEST_F(StuckCausesTest, WhoStoppedCallingShowsInOtherGroupsToo) {
  // All of four stand in a collective of theirs; what three of them have called behind it is one of everybody.
  const int32_t half = Group("half", {0, 1, 2, 3});
  for (int32_t rank = 0; rank < 4; ++rank) {
    Add(rank, {.sequence = 0, .communicator = half, .kind = OperationKind::kAllReduce}, 200, 205, kNone);
    if (rank != 3) Collective(rank, kEnded, 210, kNone, kNone);
  }
  for (int32_t rank = 4; rank < kRanks; ++rank) Collective(rank, kEnded, 210, 211, kNone);
  const std::vector<Verdict> verdicts = Find();
  EXPECT_EQ(verdicts.front().verdict_class, VerdictClass::kProcessDead) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{3});
}

TEST_F(StuckCausesTest, OfSeveralWhoseRecordsMayBeLostNobodyIsAccused) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != 3 && rank != 6) Collective(rank, kEnded, 200, 205, kNone);
  }
  const std::vector<Verdict> verdicts = Find(/*lost_records=*/4);
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(verdicts[0].type(), FindingType::kObservation);
  EXPECT_TRUE(verdicts[0].culprits.empty());
}

TEST_F(StuckCausesTest, WhereNoRecordIsLostAllThatAreMissingAreAccused) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != 3 && rank != 6) Collective(rank, kEnded, 200, 205, kNone);
  }
  EXPECT_EQ(Accused(Find()), (std::set<int32_t>{3, 6}));
}

TEST_F(StuckCausesTest, ACallThatIsRecordedTellsMoreThanRecordsThatMayBeLost) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != 3) Collective(rank, kEnded, 200, rank == 6 ? kNone : 205, kNone);
  }
  EXPECT_EQ(Accused(Find(/*lost_records=*/4)), std::set<int32_t>{6});
}

TEST_F(StuckCausesTest, AMismatchExplainsThoseThatWaitForAMissingRecord) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank == 3) continue;
    const OperationKind kind = rank == 6 ? OperationKind::kAllGather : OperationKind::kAllReduce;
    Add(rank, {.sequence = kEnded, .communicator = world_, .kind = kind}, 200, 205, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch);
}

TEST_F(StuckCausesTest, ManyCausesAtOnceAccuseNobody) {
  for (int32_t first = 0; first < kRanks; first += 2) {
    const int32_t group = Group(absl::StrCat("pair", first), {first, first + 1});
    for (const int32_t rank : {first, first + 1}) {
      Add(rank, {.sequence = 0, .communicator = group, .kind = OperationKind::kAllReduce}, 200, 205, kNone);
    }
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].type(), FindingType::kObservation);
  EXPECT_TRUE(Accused(verdicts).empty());
}

TEST_F(StuckCausesTest, ManyCausesThatShareAHostAreItsOwn) {
  // The transfers of ranks 0 and 1, both of host h0, to hosts h1 and h2.
  for (int32_t rank = 0; rank < 2; ++rank) {
    const int32_t group = Group(absl::StrCat("across", rank), {rank, 2 + 2 * rank});
    for (const int32_t member : {rank, 2 + 2 * rank}) {
      Add(member, {.sequence = 0, .communicator = group, .kind = OperationKind::kAllReduce}, 200, 205, kNone);
    }
  }
  EXPECT_EQ(Accused(Find()), (std::set<int32_t>{0, 1, 2, 4}));
}

TEST_F(StuckCausesTest, ACircleWithAWayOutIsNoDeadlock) {
  // Ranks 0 and 1 each wait for the other's Send, and for rank 7, without which neither gets to it.
  for (int32_t rank = 0; rank < kRanks - 1; ++rank) Collective(rank, kEnded, 200, 205, kNone);
  for (int32_t rank = 0; rank < 2; ++rank) Transfer(rank, OperationKind::kRecv, 0, 190, 191, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{7});
}

TEST_F(StuckCausesTest, TransfersOfARankThatIsACauseByItselfAreItsVictims) {
  // Rank 0's GPU is stuck, and with it the transfer to rank 1 in which both stand.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 200, rank == 0 ? kNone : 205, kNone);
  }
  Transfer(0, OperationKind::kRecv, 0, 210, 210, kNone);
  Transfer(1, OperationKind::kSend, 0, 190, 212, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{0});
}

TEST_F(StuckCausesTest, ACallThatIsQueuedIsNoWait) {
  // Called half a minute ahead; what they stand in began a second before somebody looked.
  Transfer(0, OperationKind::kSend, 0, 29'000, kNone, kNone);
  Transfer(1, OperationKind::kRecv, 0, 29'000, kNone, kNone);
  for (int32_t rank = 0; rank < kRanks; ++rank) Collective(rank, kEnded, 30'000, 59'000, kNone);
  EXPECT_TRUE(Find().empty()) << Told(Find());
}

TEST_F(StuckCausesTest, WhereBeginsStandForCallsTheLastEndTellsTheWait) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Collective(rank, kEnded, 20'000, 20'000, 59'500);
    Collective(rank, kEnded + 1, 30'000, 30'000, kNone);
  }
  EXPECT_TRUE(Find().empty()) << Told(Find());
}

TEST_F(StuckCausesTest, RecordsThatEndEarlyWhereSomebodyLookedWereLost) {
  // Two more collectives ended; of rank 6 nothing is recorded since, though its recorder was read a minute later.
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank == 6) continue;
    for (uint64_t call = kEnded; call < kEnded + 2; ++call) Collective(rank, call, 150, 155, 158);
    if (rank != 3) Collective(rank, kEnded + 2, 200, 205, kNone);
  }
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{3});
}

// Its group waits in a collective, and a rank elsewhere for what it sends. Others left three collectives of which it
// has no record.
TEST_F(StuckCausesTest, OneRankInTwoStuckTransfersWhoseRecordsHaveEndedIsDead) {
  const int32_t half = Group("half", {0, 1, 2, 3}), across = Group("across", {0, 7});
  const auto call = [this](int32_t rank, int32_t group, uint64_t sequence, int64_t ended) {
    Add(rank, {.sequence = sequence, .communicator = group, .kind = OperationKind::kAllReduce}, 150, 155, ended);
  };
  for (int32_t rank = 0; rank < 4; ++rank) {
    call(rank, half, 0, 158);
    for (uint64_t sequence = 1; rank > 0 && sequence < 4; ++sequence) call(rank, half, sequence, 158);
    if (rank > 0) call(rank, half, 4, kNone);
  }
  Add(0, {.sequence = 0, .communicator = across, .peer = 1, .kind = OperationKind::kSend}, 140, 141, 142);
  Add(7, {.sequence = 0, .communicator = across, .peer = 0, .kind = OperationKind::kRecv}, 140, 141, 142);
  Add(7, {.sequence = 1, .communicator = across, .peer = 0, .kind = OperationKind::kRecv}, 150, 155, kNone);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{0});
}

}  // namespace
}  // namespace lockstep
