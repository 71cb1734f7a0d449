#include "detector/hang/live_hangs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "detector/hang/live_hangs_fixture.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/tuning.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using LiveHangsTest = LiveHangsFixture;

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

ToldPlace Carried(int32_t member, int32_t size, const Tuning& tuning) {
  ToldPlace blocked{1, size, member, 5, 4, 5 * kSecond};
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
  ToldPlace stuck{1, 3, 1, 5, 4, 5 * kSecond};
  stuck.begun = false;
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {stuck});
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  const std::vector<Verdict> verdicts = Verdicts();
  ASSERT_EQ(verdicts.size(), 1u);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].rank, 1);
}

TEST_F(LiveHangsTest, AGpuThatMayWaitInACommunicatorOfUnknownSizeIsNotStuck) {
  ToldPlace stuck{1, 3, 1, 5, 4, 5 * kSecond};
  stuck.begun = false;
  Rank(0, {{1, 3, 0, 5, 4, 5 * kSecond}});
  Rank(1, {stuck}, ProcessState::kRunning, false, kNow, /*unsized=*/true);
  Rank(2, {{1, 3, 2, 5, 4, 5 * kSecond}});
  EXPECT_TRUE(Verdicts().empty());
}

TEST_F(LiveHangsTest, WhatIsQueuedBehindAStuckOperationIsNoStuckTransfer) {
  // 3 has not entered the pair with 2; what 2 has called in the other communicator waits behind it on its GPU.
  ToldPlace queued{1, 3, 2, 5, 4, 5 * kSecond};
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
    ToldPlace called{1, 3, rank, 5, 4, 5 * kSecond};
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
