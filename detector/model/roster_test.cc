#include "detector/model/roster.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// A pair of ranks that tell of one operation each time.
class RosterTest : public ::testing::Test {
 protected:
  void Tell(int64_t received_ns, const Operation& ended) {
    const CommunicatorView pair{.id = 1, .size = 2, .communicator_rank = 0, .operations = {ended}};
    const RankView view{.rank = 0, .pid = 10, .communicators = {pair}};
    roster_.Update(roster_.TouchHost("h", received_ns), view, received_ns, 0);
    roster_.Join(roster_.SlotOfRank(0), pair);
  }
  const Communicator& Pair() const { return roster_.communicators()[0]; }

  Roster roster_{RosterLimits{}};
};

TEST_F(RosterTest, AllHaveEnteredWhatOneLeftAndNobodyLeavesAlone) {
  Tell(100, {.kind = OperationKind::kAllReduce, .sequence = 4});
  Tell(200, {.kind = OperationKind::kBroadcast, .sequence = 5});
  Tell(300, {.kind = OperationKind::kSend, .sequence = 6});
  Tell(400, {.kind = OperationKind::kUnknown, .sequence = 7});
  Tell(500, {.kind = OperationKind::kAllReduce, .sequence = 8, .quality = TimingQuality::kHostEnqueue});
  EXPECT_EQ(Pair().entered_by_all, 4u);
  EXPECT_EQ(Pair().entered_by_all_since_ns, 100);
  Tell(600, {.kind = OperationKind::kAllGather, .sequence = 9});
  Tell(700, {.kind = OperationKind::kAllGather, .sequence = 9});  // heard of before
  EXPECT_EQ(Pair().entered_by_all, 9u);
  EXPECT_EQ(Pair().entered_by_all_since_ns, 600);
}

TEST_F(RosterTest, CallsAreToldByARankOneOfWhoseOperationsBeganLater) {
  Tell(100, {.kind = OperationKind::kAllReduce, .sequence = 1, .enqueue_ns = 5, .start_ns = 5, .end_ns = 9});
  Tell(200, {.kind = OperationKind::kAllReduce,
             .sequence = 2,
             .enqueue_ns = 5,
             .start_ns = 6,
             .end_ns = 9,
             .quality = TimingQuality::kHostCall});
  EXPECT_FALSE(roster_.ranks()[0].tells_calls);
  Tell(300, {.kind = OperationKind::kAllReduce, .sequence = 3, .enqueue_ns = 5, .start_ns = 6, .end_ns = 9});
  Tell(400, {.kind = OperationKind::kAllReduce, .sequence = 4, .enqueue_ns = 9, .start_ns = 9, .end_ns = 9});
  EXPECT_TRUE(roster_.ranks()[0].tells_calls);
}

TEST_F(RosterTest, WhatARecorderSeesIsKnownBeforeTheSizeOfItsCommunicatorsIs) {
  const auto told = [this](int64_t end_ns, TimingQuality quality) {
    const Operation operation{.sequence = 1, .enqueue_ns = 1, .start_ns = 2, .end_ns = end_ns, .quality = quality};
    const RankView view{.rank = 0, .pid = 10, .communicators = {{.id = 1, .operations = {operation}}}};
    roster_.Update(roster_.TouchHost("h", 100), view, 100, 0);
    return roster_.ranks()[0].newest_quality;
  };
  EXPECT_EQ(told(9, TimingQuality::kKernelWindow), TimingQuality::kKernelWindow);
  EXPECT_EQ(told(8, TimingQuality::kHostEnqueue), TimingQuality::kKernelWindow) << "it ended before";
  EXPECT_EQ(told(10, TimingQuality::kHostEnqueue), TimingQuality::kHostEnqueue);
  EXPECT_TRUE(roster_.ranks()[0].tells_calls);
}

TEST_F(RosterTest, WhatIsOlderThanWhatIsKnownOfAProcessIsIgnored) {
  const RankView view{.rank = 0, .pid = 10, .process_start_ticks = 5};
  roster_.Update(roster_.TouchHost("h", 100), view, 100, /*host_ns=*/50);
  EXPECT_EQ(roster_.Admit({.host = "h", .host_ns = 49}, view), Roster::Admission::kIgnored)
      << "an agent before this one saw it";
  EXPECT_EQ(roster_.Admit({.host = "h", .host_ns = 50}, view), Roster::Admission::kAccepted);
  EXPECT_EQ(roster_.Admit({.host = "h", .host_ns = 10}, {.rank = 0, .pid = 11, .process_start_ticks = 6}),
            Roster::Admission::kNewIncarnation);
}

// Rank 0 was seen alive on host "h" at 100, and may be silent for 8.
class SecondProcessTest : public ::testing::Test {
 protected:
  SecondProcessTest() { Tell(first_, 100); }

  void Tell(const RankView& view, int64_t received_ns) {
    roster_.Update(roster_.TouchHost("h", received_ns), view, received_ns, /*host_ns=*/received_ns);
  }
  Roster::Admission Admit(const std::string& host, int64_t received_ns, std::vector<RankView> also = {},
                          int64_t waited_ns = 0) {
    const RankView second{.rank = 0, .pid = 11, .process_start_ticks = 6};
    also.push_back(second);
    return roster_.Admit(
        {.host = host, .received_ns = received_ns, .waited_ns = waited_ns, .host_ns = received_ns, .ranks = also},
        second);
  }

  const RankView first_{.rank = 0, .pid = 10, .process_start_ticks = 5};
  Roster roster_{{.host_silent_ns = 8}};
};

TEST_F(SecondProcessTest, OnAnotherHostIsContestedUntilTheFirstIsSilent) {
  EXPECT_EQ(Admit("i", 101), Roster::Admission::kContested);
  EXPECT_EQ(Admit("i", 107), Roster::Admission::kContested);
  EXPECT_EQ(Admit("i", 108), Roster::Admission::kNewIncarnation);
  EXPECT_EQ(Admit("i", 111, {}, /*waited_ns=*/5), Roster::Admission::kContested) << "it is told late: it was at 106";
}

TEST_F(SecondProcessTest, IsTakenInAtOnceWhenTheFirstIsTold) {
  RankView gone = first_;
  gone.process_state = ProcessState::kGone;
  Tell(gone, 101);
  EXPECT_EQ(Admit("i", 101), Roster::Admission::kNewIncarnation);
  EXPECT_EQ(Admit("h", 101), Roster::Admission::kNewIncarnation);
}

TEST_F(SecondProcessTest, IsTakenInAtOnceWhenTheHostOfTheFirstLeavesThatOut) {
  roster_.TouchHost("h", 101);
  EXPECT_EQ(Admit("i", 101), Roster::Admission::kNewIncarnation);
}

TEST_F(SecondProcessTest, OnTheSameHostIsContestedIfTheReportHasBothAlive) {
  EXPECT_EQ(Admit("h", 101, {first_}), Roster::Admission::kContested);
  RankView over = first_;
  over.finalized = true;
  EXPECT_EQ(Admit("h", 101, {over}), Roster::Admission::kNewIncarnation);
  EXPECT_EQ(Admit("h", 101), Roster::Admission::kNewIncarnation) << "the first is not there any more";
}

TEST_F(SecondProcessTest, TheFirstIsNotBlamedForSilenceWhileNobodyListened) {
  roster_.ForgiveSilence(1'000);
  EXPECT_EQ(Admit("i", 1'001), Roster::Admission::kContested);
  EXPECT_EQ(Admit("i", 1'008), Roster::Admission::kNewIncarnation);
}

}  // namespace
}  // namespace lockstep
