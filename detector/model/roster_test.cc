#include "detector/model/roster.h"

#include <gtest/gtest.h>

#include <cstdint>

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
  EXPECT_EQ(roster_.Admit("h", view, 49), Roster::Admission::kIgnored) << "an agent before this one saw it";
  EXPECT_EQ(roster_.Admit("h", view, 50), Roster::Admission::kAccepted);
  EXPECT_EQ(roster_.Admit("h", {.rank = 0, .pid = 11, .process_start_ticks = 6}, 10),
            Roster::Admission::kNewIncarnation);
}

}  // namespace
}  // namespace lockstep
