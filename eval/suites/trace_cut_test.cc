#include "eval/suites/trace_cut.h"

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "eval/testing/small_trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(TraceCutTest, OperationsUnderWayAreLeftOpen) {
  SmallTrace job(1);
  const int32_t world = job.AddCommunicator({0});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(0, world, 1, OperationKind::kAllReduce, 12, 20);
  job.Add(0, world, 2, OperationKind::kAllReduce, 14, 24);
  job.Add(0, world, 3, OperationKind::kAllReduce, 30, 40);
  Trace trace = job.Build();
  trace.operations[2].start_ns = 18'000'000;
  const Trace cut = UntilTime(trace, 15'000'000);
  ASSERT_EQ(cut.OperationsOf(0).size(), 3u);
  EXPECT_TRUE(cut.operations[0].finished());
  EXPECT_TRUE(cut.operations[1].started() && !cut.operations[1].finished());
  EXPECT_TRUE(!cut.operations[2].started() && !cut.operations[2].finished());
}

TEST(TraceCutTest, AgentsSayWhenTheyLooked) {
  const Trace trace = DataParallelTrace({10, 10, 12}, 8, 0.1, 1);
  const Trace seen = SeenByAgents(trace, 30'000'000, {"node-1"});
  EXPECT_EQ(seen.ranks[0].last_seen_ns, 30'000'000);
  EXPECT_EQ(seen.ranks[1].last_seen_ns, kNoTime);
  EXPECT_EQ(seen.operations.size(), UntilTime(trace, 30'000'000).operations.size());
}

TEST(TraceCutTest, StepsAreCountedByOperationsOfEachRank) {
  const Trace trace = DataParallelTrace({10, 10, 12}, 8, 0.1, 1);
  const Trace cut = FirstSteps(trace, 3, 8);
  ASSERT_EQ(cut.first_operation.size(), 4u);
  for (size_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(cut.OperationsOf(rank).size(), 3u);
    EXPECT_EQ(cut.OperationsOf(rank)[2].sequence, 2u);
  }
  EXPECT_EQ(FirstSteps(trace, 8, 8).operations.size(), trace.operations.size());
}

}  // namespace
}  // namespace lockstep
