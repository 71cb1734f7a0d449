#include "detector/hang/live_hangs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/hardware/evidence_log.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/tuning.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 100 * kSecond;

// A rank in communicators: inside operation `sequence` of one of them for `age_ns`, or outside.
struct BlockedOperation {
  CommunicatorId id;
  int32_t size, member;
  uint64_t enqueued, finished;
  int64_t age_ns = 0;  // 0 = outside
  OperationKind kind = OperationKind::kAllReduce;
  uint64_t bytes = 8;
  int32_t peer = -1;
  bool begun = true;
  Tuning tuning = {};
};

class LiveHangsTest : public ::testing::Test {
 protected:
  void Rank(int32_t rank, std::vector<BlockedOperation> places, ProcessState state = ProcessState::kRunning,
            bool finalized = false, int64_t received_ns = kNow, bool unsized = false) {
    RankView view{.rank = rank, .pid = 10 + rank, .process_state = state, .finalized = finalized};
    for (const BlockedOperation& place : places) {
      CommunicatorView at{.id = place.id, .size = place.size, .communicator_rank = place.member};
      at.enqueued = at.started = place.enqueued;
      at.finished = place.finished;
      at.idle_ns = 6 * kSecond;
      if (place.age_ns > 0) {
        at.oldest_in_flight = InFlightOperation{.kind = place.kind,
                                                .tuning = place.tuning,
                                                .sequence = place.finished + 1,
                                                .started = place.begun,
                                                .age_ns = place.age_ns,
                                                .inside_ns = place.begun ? place.age_ns : 0,
                                                .bytes = place.bytes,
                                                .peer = place.peer};
      }
      view.communicators.push_back(at);
    }
    const int32_t host = roster_.TouchHost("h" + std::to_string(rank), received_ns);
    roster_.Update(host, view, received_ns, 0)->unsized = unsized;
    for (const CommunicatorView& at : view.communicators) roster_.Join(roster_.SlotOfRank(rank), at);
  }

  // All that a rank has in flight in one communicator of `size` members, the oldest first.
  struct Called {
    OperationKind kind = OperationKind::kAllReduce;
    uint64_t sequence = 0;
    bool begun = false;
    int32_t peer = -1;
  };
  struct Place {
    CommunicatorId id;
    int32_t size, member;
    std::vector<Called> called;
    uint64_t enqueued = 4;  // of collectives; all before those that are called have finished
  };
  // Everything was called `age_ns` ago, one after the other, and what has begun did so then or `inside_ns` ago, when
  // the counters changed last.
  void TellAll(int32_t rank, const std::vector<Place>& places, int64_t age_ns = 5 * kSecond, int64_t inside_ns = -1,
               int64_t received_ns = kNow, ProcessState state = ProcessState::kRunning) {
    RankView view{.rank = rank, .pid = 10 + rank, .process_state = state};
    for (const Place& place : places) {
      CommunicatorView at{.id = place.id, .size = place.size, .communicator_rank = place.member};
      at.enqueued = at.finished = place.enqueued;
      at.idle_ns = inside_ns < 0 ? age_ns : inside_ns;
      for (const Called& called : place.called) {
        const bool counted = called.kind != OperationKind::kSend && called.kind != OperationKind::kRecv;
        if (counted) at.enqueued = std::max(at.enqueued, called.sequence);
        if (counted) at.finished = std::min(at.finished, called.sequence - 1);
        const InFlightOperation operation{.kind = called.kind,
                                          .sequence = called.sequence,
                                          .started = called.begun,
                                          .age_ns = age_ns--,
                                          .inside_ns = !called.begun   ? 0
                                                       : inside_ns < 0 ? age_ns
                                                                       : inside_ns,
                                          .bytes = 8,
                                          .peer = called.peer};
        if (!at.oldest_in_flight.has_value()) {
          at.oldest_in_flight = operation;
          at.further_in_flight.emplace();
        } else {
          at.further_in_flight->operations.push_back(operation);
        }
      }
      view.communicators.push_back(at);
    }
    roster_.Update(roster_.TouchHost("h" + std::to_string(rank), received_ns), view, received_ns, 0);
    for (const CommunicatorView& at : view.communicators) roster_.Join(roster_.SlotOfRank(rank), at);
  }

  static std::vector<int32_t> RanksOf(const Verdict& verdict) {
    std::vector<int32_t> ranks;
    for (const Culprit& culprit : verdict.culprits) ranks.push_back(culprit.rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  LiveHangs Judge() const { return JudgeLiveHangs(roster_, {.watermark_ns = kNow, .longest_usual_step_seconds = 0.1}); }
  std::vector<Verdict> Verdicts() const { return Judge().verdicts; }

  Roster roster_{RosterLimits{}};
};

TEST_F(LiveHangsTest, FollowsTheWaitsOverCommunicatorsToTheRoot) {
  // 3 has not entered its pair; 2 waits for it there, 0 and 1 wait for 2 and 3 in the world.
  Rank(0, {{1, 4, 0, 8, 7, 5 * kSecond}});
  Rank(1, {{1, 4, 1, 8, 7, 5 * kSecond}});
  Rank(2, {{1, 4, 2, 7, 7}, {2, 2, 0, 4, 3, 5 * kSecond}});
  Rank(3, {{1, 4, 3, 7, 7}, {2, 2, 1, 3, 3}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h3/rank3");
}

TEST_F(LiveHangsTest, ACycleOverCommunicatorsIsADeadlockOfSoftware) {
  Rank(0, {{1, 2, 0, 5, 4, 5 * kSecond}, {2, 2, 0, 4, 4}});
  Rank(1, {{1, 2, 1, 4, 4}, {2, 2, 1, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kSoftware);
  EXPECT_EQ(verdicts[0].culprits.size(), 2u);
}

TEST_F(LiveHangsTest, DifferentOperationsAtOnePlaceAreAMismatch) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 4, 5 * kSecond, OperationKind::kBarrier}});
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].rank, 1);
}

constexpr Tuning kRing = {CollectiveAlgorithm::kRing, CollectiveProtocol::kLl128, 16};
constexpr Tuning kTree = {CollectiveAlgorithm::kTree, CollectiveProtocol::kSimple, 16};

BlockedOperation Carried(int32_t member, int32_t size, const Tuning& tuning) {
  BlockedOperation blocked{1, size, member, 5, 4, 5 * kSecond};
  blocked.tuning = tuning;
  return blocked;
}

TEST_F(LiveHangsTest, OneOperationCarriedOutInTwoWaysIsAMismatchOfTheSmallerParty) {
  for (int rank = 0; rank < 4; ++rank) Rank(rank, {Carried(rank, 4, rank == 2 ? kTree : kRing)});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kSoftware);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].rank, 2);
  EXPECT_NE(verdicts[0].evidence[0].text().find("rank 2 as \"tree, Simple, 16 channels\""), std::string::npos);
}

TEST_F(LiveHangsTest, TwoPartiesOfOneSizeAreBothListed) {
  for (int rank = 0; rank < 2; ++rank) Rank(rank, {Carried(rank, 2, rank == 0 ? kTree : kRing)});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch);
  EXPECT_EQ(verdicts[0].culprits.size(), 2u);
}

TEST_F(LiveHangsTest, ARecorderThatDoesNotKnowTheWayDiffersFromNothing) {
  for (int rank = 0; rank < 3; ++rank) Rank(rank, {Carried(rank, 3, rank == 0 ? Tuning{} : kRing)});
  std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  // Once it is known, it describes what is stuck.
  Rank(0, {Carried(0, 3, kRing)});
  verdicts = Verdicts();
  EXPECT_NE(verdicts[0].evidence[0].text().find("(ring, LL128, 16 channels)"), std::string::npos);
}

TEST_F(LiveHangsTest, KernelsOnSymmetricMemoryChooseTheirChannelsAlone) {
  for (int rank = 0; rank < 3; ++rank) {
    const auto channels = static_cast<uint16_t>(rank + 1);
    Rank(rank, {Carried(rank, 3, {CollectiveAlgorithm::kSymmetric, CollectiveProtocol::kUnknown, channels})});
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
}

TEST_F(LiveHangsTest, AllInsideAndRunningIsAQuestionForTheNetwork) {
  for (int rank = 0; rank < 3; ++rank) Rank(rank, {{1, 3, rank, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kNetwork);
  EXPECT_EQ(verdicts[0].culprits.size(), 3u);
}

TEST_F(LiveHangsTest, AGpuThatDoesNotBeginWhatItsHostCalledIsNamedAlone) {
  BlockedOperation stuck{1, 3, 1, 5, 4, 5 * kSecond};
  stuck.begun = false;
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {stuck});
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].rank, 1);
}

TEST_F(LiveHangsTest, WhatIsQueuedBehindAStuckOperationIsNoStuckTransfer) {
  // 3 has not entered the pair with 2; what 2 has called in the other communicator waits behind it on its GPU.
  BlockedOperation queued{1, 3, 2, 5, 4, 5 * kSecond};
  queued.begun = false;
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 4, 5 * kSecond}});
  Rank(2, {queued, {2, 2, 0, 9, 8, 6 * kSecond}});
  Rank(3, {{2, 2, 1, 8, 8}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h3/rank3");
}

TEST_F(LiveHangsTest, ARecorderThatNeverSeesABeginTellsNoStuckGpu) {
  for (int rank = 0; rank < 3; ++rank) {
    BlockedOperation called{1, 3, rank, 5, 4, 5 * kSecond};
    called.begun = false;
    Rank(rank, {called});
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits.size(), 3u);
}

TEST_F(LiveHangsTest, WhoMayWaitInACommunicatorOfUnknownSizeIsNotAccused) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 4, 5 * kSecond}});
  Rank(2, {{1, 3, 2, 4, 4}}, ProcessState::kRunning, false, kNow, /*unsized=*/true);
  EXPECT_TRUE(Verdicts().empty());
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}}, ProcessState::kRunning, false, kNow, /*unsized=*/true);
  EXPECT_TRUE(Verdicts().empty());
  Rank(2, {{1, 3, 2, 4, 4}});
  EXPECT_EQ(Verdicts().size(), 1u);
}

TEST_F(LiveHangsTest, StoppedInsideIsNamedAlone) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 4, 5 * kSecond}}, ProcessState::kStopped);
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h1/rank1");
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
}

TEST_F(LiveHangsTest, AFinalizedOrStaleRankIsNotAccused) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 4, 4}}, ProcessState::kRunning, /*finalized=*/true);
  Rank(2, {{1, 3, 2, 4, 4}}, ProcessState::kRunning, false, kNow - 5 * kSecond);  // its report is too old to tell
  EXPECT_TRUE(Verdicts().empty());
  EXPECT_EQ(Judge().stuck_ranks, 1);
}

TEST_F(LiveHangsTest, AMemberThatNeverReportedIsNeitherGuiltyNorInnocent) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 4, 5 * kSecond}});
  EXPECT_TRUE(Verdicts().empty());
}

TEST_F(LiveHangsTest, SendAndReceiveThatMeetAreStuckBetweenTheTwo) {
  Rank(0, {{1, 3, 0, 4, 4, 5 * kSecond, OperationKind::kSend, 8, 1}});
  Rank(1, {{1, 3, 1, 4, 4, 5 * kSecond, OperationKind::kRecv, 8, 0}});
  Rank(2, {{1, 3, 2, 4, 4}});
  for (const Verdict& verdict : Verdicts()) {
    EXPECT_EQ(verdict.verdict_class, VerdictClass::kHangInCommunication);
    EXPECT_EQ(verdict.culprits.size(), 2u);
  }
}

TEST_F(LiveHangsTest, CountersThatContradictTheOperationAccuseNobody) {
  Rank(0, {{1, 2, 0, 9, 9, 5 * kSecond}});  // says that it is inside operation 10, and that it entered 9
  Rank(1, {{1, 2, 1, 10, 10}});
  roster_.communicator(0).members[0].enqueued = 10;
  roster_.communicator(0).members[0].finished = 10;
  EXPECT_TRUE(Verdicts().empty());
}

TEST_F(LiveHangsTest, OutsideForLongIsAPause) {
  Rank(0, {{1, 2, 0, 4, 4}});
  Rank(1, {{1, 2, 1, 4, 4}});
  const LiveHangs found = Judge();
  EXPECT_TRUE(found.verdicts.empty());
  EXPECT_TRUE(found.all_outside);
}

TEST_F(LiveHangsTest, ATransferIsNotStuckBeforeTheLastToComeHasBeenInsideForLong) {
  for (int rank = 0; rank < 3; ++rank) Rank(rank, {{1, 3, rank, 5, 4, (rank == 2 ? 1 : 6) * kSecond}});
  EXPECT_TRUE(Verdicts().empty());
  EXPECT_EQ(Judge().stuck_ranks, 2);
  Rank(2, {{1, 3, 2, 5, 4, 4 * kSecond}});
  EXPECT_EQ(Verdicts().size(), 1u);
}

TEST_F(LiveHangsTest, WhoIsLeftBehindIsNamedOnlyIfItWasHeardLongAfterTheOthersLeft) {
  Rank(0, {{1, 3, 0, 5, 4, 6 * kSecond}});
  Rank(1, {{1, 3, 1, 5, 5}});
  Rank(2, {{1, 3, 2, 5, 5}});
  std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h0/rank0");
  // Its report is from before the others left, six seconds ago.
  Rank(0, {{1, 3, 0, 5, 4, 6 * kSecond}}, ProcessState::kRunning, false, kNow - 5 * kSecond);
  EXPECT_TRUE(Verdicts().empty());
}

TEST_F(LiveHangsTest, WhoseCountersStoppedBeforeWhatOthersLeftIsNotAccused) {
  // All but 3 have left 9 and stand in 10, which 2 has not called. The counters of 3 stopped at 6.
  Rank(0, {{1, 4, 0, 10, 9, 5 * kSecond}});
  Rank(1, {{1, 4, 1, 10, 9, 5 * kSecond}});
  Rank(2, {{1, 4, 2, 9, 9}});
  Rank(3, {{1, 4, 3, 6, 6}});
  ASSERT_EQ(Verdicts().size(), 2u);  // of 9 no record is known: it may have been a broadcast
  roster_.communicator(0).entered_by_all = 9;
  roster_.communicator(0).entered_by_all_since_ns = kNow - kSecond;
  ASSERT_EQ(Verdicts().size(), 2u);  // 3 may have been heard before that
  roster_.communicator(0).entered_by_all_since_ns = kNow - 5 * kSecond;
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h2/rank2");
}

// Rank 2 has two calls in flight while all others have four; all are inside of the first.
TEST_F(LiveHangsTest, WhoStoppedCallingInsideIsDeadUnlessItsProcessIsKnownToRun) {
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

// The GPU of rank 0 has not begun the AllReduce in which 1 waits, and has begun a Recv that was called after it; 1 will
// send when the AllReduce is over.
TEST_F(LiveHangsTest, WhatWasCalledLaterDoesNotHoldUpWhatWasCalledBefore) {
  TellAll(0, {{1, 2, 0, {{.sequence = 5}}}, {2, 2, 0, {{.kind = OperationKind::kRecv, .begun = true, .peer = 1}}}});
  TellAll(1, {{1, 2, 1, {{.sequence = 5, .begun = true}}}, {2, 2, 1, {}}});
  std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);  // ages may be those of begins
  // Each has finished an operation that began later than it was called.
  for (int32_t rank = 0; rank < 2; ++rank) {
    roster_.Join(
        roster_.SlotOfRank(rank),
        {.id = 3,
         .size = 2,
         .communicator_rank = rank,
         .idle_ns = 6 * kSecond,
         .operations = {
             {.kind = OperationKind::kAllReduce, .sequence = 1, .enqueue_ns = 1, .start_ns = 2, .end_ns = 3}}});
  }
  verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(RanksOf(verdicts[0]), std::vector<int32_t>({0}));
}

TEST_F(LiveHangsTest, AReceiverThatEndedIsNotAccusedBySenders) {
  Rank(0, {{1, 3, 0, 4, 4, 5 * kSecond, OperationKind::kSend, 8, 1}});
  Rank(1, {{1, 3, 1, 4, 4}}, ProcessState::kRunning, /*finalized=*/true);
  Rank(2, {{1, 3, 2, 4, 4}});
  EXPECT_TRUE(Verdicts().empty());
  Rank(0, {{1, 3, 0, 4, 4, 5 * kSecond, OperationKind::kSend, 8, 2}});
  ASSERT_EQ(Verdicts().size(), 1u);
  EXPECT_EQ(CauseKey(Verdicts()[0]), "hang:h2/rank2");
}

// Each sends and receives in one group call, of which only the first half shows.
TEST_F(LiveHangsTest, ACircleOfSendsIsAStuckTransferAndNoDeadlock) {
  for (int rank = 0; rank < 3; ++rank) {
    Rank(rank, {{1, 3, rank, 4, 4, 5 * kSecond, OperationKind::kSend, 8, (rank + 1) % 3}});
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].culprits.size(), 3u);
}

// Both hosts have called both operations, in different order; the GPUs have begun one each.
TEST_F(LiveHangsTest, OperationsCalledInCrossedOrderAreADeadlockOfTwo) {
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
TEST_F(LiveHangsTest, WhoCalledInAnotherOrderThanMostIsNamedAlone) {
  TellAll(0, {{1, 4, 0, {{.sequence = 5, .begun = true}}}, {2, 4, 0, {{.sequence = 5}}}});
  for (int rank = 1; rank < 4; ++rank) {
    TellAll(rank, {{2, 4, rank, {{.sequence = 5, .begun = true}}}, {1, 4, rank, {{.sequence = 5}}}});
  }
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), std::vector<int32_t>{0});
}

TEST_F(LiveHangsTest, ThreeThatWaitRoundOverThreeCommunicatorsAreADeadlockAndTheFourthAVictim) {
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

TEST_F(LiveHangsTest, SendsThatWaitRoundForReceivesThatNobodyHasCalledAreADeadlock) {
  for (int rank = 0; rank < 3; ++rank) {
    TellAll(rank, {{1, 4, rank, {{OperationKind::kSend, 7, true, (rank + 1) % 3}}}});
  }
  TellAll(3, {{1, 4, 3, {{OperationKind::kRecv, 7, true, 0}}}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(LiveHangsTest, ATransferBetweenTwoIsStuckAlthoughOthersAreCalledBesideIt) {
  TellAll(0, {{1, 3, 0, {{OperationKind::kSend, 7, true, 1}, {OperationKind::kRecv, 7, true, 2}}}});
  TellAll(1, {{1, 3, 1, {{OperationKind::kRecv, 7, true, 0}}}});
  TellAll(2, {{1, 3, 2, {{OperationKind::kRecv, 3, true, 1}}}});  // waits for 1, and 0 for it
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(RanksOf(verdicts[0]), (std::vector<int32_t>{0, 1}));
}

// Hosts have called eight operations six seconds ago; GPUs come to one after the other.
TEST_F(LiveHangsTest, CallsFarAheadOfTheGpuAccuseNobody) {
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

TEST_F(LiveHangsTest, OfTheSameOperationsThatDoNotMoveTheTransferIsStuck) {
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

TEST_F(LiveHangsTest, OfTwoEqualPartiesTheSisterGroupTellsWhichDiffers) {
  Rank(0, {{1, 2, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 2, 1, 5, 4, 5 * kSecond, OperationKind::kBroadcast}});
  Rank(2, {{2, 2, 0, 5, 4, 5 * kSecond, OperationKind::kBroadcast}});
  Rank(3, {{2, 2, 1, 4, 4}});
  bool told = false;
  for (const Verdict& verdict : Verdicts()) {
    if (verdict.verdict_class != VerdictClass::kCollectiveMismatch) continue;
    told = true;
    ASSERT_EQ(verdict.culprits.size(), 1u);
    EXPECT_EQ(verdict.culprits[0].rank, 0);
  }
  EXPECT_TRUE(told);
}

TEST_F(LiveHangsTest, EachMissingRankHasAVerdictOfItsOwn) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 4, 4}});
  Rank(2, {{1, 3, 2, 4, 4}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h1/rank1");
  EXPECT_EQ(CauseKey(verdicts[1]), "hang:h2/rank2");
  EXPECT_EQ(verdicts[0].first_seen_ns, kNow - 5 * kSecond);
}

TEST_F(LiveHangsTest, AHostWithoutReportsIsUnreachableAndItsRanksAreNotNamedBesides) {
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {{1, 3, 1, 4, 4}}, ProcessState::kRunning, false, kNow - 20 * kSecond);
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h1");
}

TEST_F(LiveHangsTest, ADeadProcessIsNamedBeforeAnybodyWaitsForIt) {
  Rank(0, {{1, 2, 0, 4, 4}});
  Rank(1, {{1, 2, 1, 4, 4}}, ProcessState::kGone, false, kNow - 2 * kSecond);
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(CauseKey(verdicts[0]), "hang:h1/rank1");
}

}  // namespace
}  // namespace lockstep
