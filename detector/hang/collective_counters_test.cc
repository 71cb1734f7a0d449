#include "detector/hang/collective_counters.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kFreshness = 100;

InFlightOperation Inside(uint64_t sequence, OperationKind kind = OperationKind::kAllReduce) {
  return {.kind = kind, .sequence = sequence, .started = true};
}

// Three ranks in one communicator, all of them heard at 1000; a record of what was left has just come in.
class CollectiveCountersTest : public testing::Test {
 protected:
  CollectiveCountersTest() : ranks_(3), communicators_(1) {
    communicators_[0].entered_by_all_since_ns = 1000;
    for (size_t slot = 0; slot < ranks_.size(); ++slot) {
      ranks_[slot].received_ns = 1000;
      ranks_[slot].memberships.push_back({.communicator_slot = 0, .member = static_cast<int32_t>(slot)});
      members().push_back({.rank_slot = static_cast<int32_t>(slot)});
    }
  }

  std::vector<Member>& members() { return communicators_[0].members; }
  int64_t Entered() { return CountedEnteredByAll(communicators_[0], ranks_, kFreshness); }
  bool Stopped(size_t slot) { return CountersStopped(ranks_[slot], communicators_, kFreshness); }

  std::vector<RankProcess> ranks_;
  std::vector<Communicator> communicators_;
};

TEST_F(CollectiveCountersTest, ThatOneHasLeftWhereOthersAreShowsThatAllHaveEntered) {
  members()[0].finished = 8;
  members()[0].idle_ns = 100;
  members()[1].in_flight = Inside(7);
  EXPECT_EQ(Entered(), 7);
  members()[1].in_flight = Inside(8);
  EXPECT_EQ(Entered(), 8);
  members()[1].in_flight = Inside(9);
  EXPECT_EQ(Entered(), -1) << "nobody has left it";
}

TEST_F(CollectiveCountersTest, AReportThatIsHardlyNewerProvesNothing) {
  members()[0].finished = 8;
  members()[0].idle_ns = 99;
  members()[1].in_flight = Inside(7);
  EXPECT_EQ(Entered(), -1);
  ranks_[1].received_ns = 1001;
  EXPECT_EQ(Entered(), 7);
  members()[2].in_flight = Inside(8);
  EXPECT_EQ(Entered(), -1) << "of all that are inside, the oldest report counts";
}

TEST_F(CollectiveCountersTest, WhoLeavesABroadcastWaitsForNobody) {
  members()[0].finished = 8;
  members()[0].idle_ns = 500;
  members()[1].in_flight = Inside(7, OperationKind::kBroadcast);
  EXPECT_EQ(Entered(), -1);
}

TEST_F(CollectiveCountersTest, RecordsTellOnceTheyAreOlderThanTheReports) {
  communicators_[0].entered_by_all = 5;
  communicators_[0].entered_by_all_since_ns = 901;
  members()[1].in_flight = Inside(7);
  EXPECT_EQ(Entered(), -1);
  communicators_[0].entered_by_all_since_ns = 900;
  EXPECT_EQ(Entered(), 5);
}

TEST_F(CollectiveCountersTest, MembersThatNeverReportedAreNotAsked) {
  members()[0] = {.rank_slot = -1, .finished = 8, .idle_ns = 500};
  members()[1].in_flight = Inside(7);
  EXPECT_EQ(Entered(), -1);
}

TEST_F(CollectiveCountersTest, CountersThatStoppedTwoCollectivesBeforeOthersTellNoMore) {
  communicators_[0].entered_by_all = 5;
  communicators_[0].entered_by_all_since_ns = 900;
  members()[2].enqueued = 4;
  EXPECT_FALSE(Stopped(2)) << "one record may be lost";
  members()[2].enqueued = 3;
  EXPECT_TRUE(Stopped(2));
  communicators_[0].entered_by_all_since_ns = 901;
  EXPECT_FALSE(Stopped(2)) << "the report is hardly newer";
}

TEST_F(CollectiveCountersTest, WhoIsInsideOfWhatNobodyHasLeftStandsThere) {
  communicators_.resize(2);
  communicators_[0].entered_by_all = 5;
  communicators_[0].entered_by_all_since_ns = 900;
  communicators_[1].members.push_back({.rank_slot = 2});
  ranks_[2].memberships.push_back({.communicator_slot = 1, .member = 0});
  EXPECT_TRUE(Stopped(2));
  communicators_[1].members[0].in_flight = Inside(1);
  EXPECT_FALSE(Stopped(2));
  communicators_[1].entered_by_all = 1;
  EXPECT_TRUE(Stopped(2));
}

}  // namespace
}  // namespace lockstep
