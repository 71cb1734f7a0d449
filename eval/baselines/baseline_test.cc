#include "eval/baselines/baseline.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "eval/baselines/joined_trace.h"
#include "eval/baselines/wait_edges.h"
#include "eval/testing/small_trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

std::vector<int32_t> Accused(const Ranking& ranking) {
  std::vector<int32_t> accused;
  for (const RankedSuspect& suspect : ranking) {
    if (suspect.accused) accused.push_back(suspect.rank_index);
  }
  return accused;
}

TEST(BaselineTest, EveryOneFindsTheSlowRankOfAPlainDataParallelJob) {
  std::vector<double> own_ms(64, 10);
  own_ms[17] = 15;
  const Trace trace = DataParallelTrace(own_ms, 20, 0.01, 1);
  const JoinedTrace joined(trace);
  for (const Baseline& baseline : AllBaselines()) {
    const Ranking ranking = baseline.rank(joined);
    ASSERT_EQ(ranking.size(), 64u) << baseline.name;
    EXPECT_EQ(ranking[0].rank_index, 17) << baseline.name;
    EXPECT_TRUE(std::is_sorted(ranking.begin(), ranking.end(), [](const RankedSuspect& a, const RankedSuspect& b) {
      return a.score > b.score;
    })) << baseline.name;
  }
}

TEST(BaselineTest, ThoseWithAThresholdAccuseExactlyASlowRank) {
  std::vector<double> own_ms(64, 10);
  own_ms[17] = 15;
  const Trace trace = DataParallelTrace(own_ms, 20, 0.01, 2);
  const JoinedTrace joined(trace);
  for (const Baseline& baseline : AllBaselines()) {
    const std::vector<int32_t> expected = baseline.accuses ? std::vector<int32_t>{17} : std::vector<int32_t>{};
    EXPECT_EQ(Accused(baseline.rank(joined)), expected) << baseline.name;
  }
}

TEST(BaselineTest, LeastCommunicationAddsUpTheTimeInside) {
  SmallTrace job(3);
  const int32_t world = job.AddCommunicator({0, 1, 2});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(1, world, 0, OperationKind::kAllReduce, 8, 10);
  job.Add(2, world, 0, OperationKind::kAllReduce, 4, 10);
  const Trace trace = job.Build();
  const Ranking ranking = RankByLeastCommunication(JoinedTrace(trace));
  ASSERT_EQ(ranking.size(), 3u);
  EXPECT_EQ(ranking[0].rank_index, 1);
  EXPECT_DOUBLE_EQ(ranking[0].score, -2e6);
  EXPECT_EQ(ranking[1].rank_index, 2);
  EXPECT_EQ(ranking[2].rank_index, 0);
}

TEST(BaselineTest, LastArrivalsAreAShareOfTheCollectivesThatARankJoined) {
  SmallTrace job(3);
  const int32_t world = job.AddCommunicator({0, 1, 2});
  const int32_t pair = job.AddCommunicator({0, 1});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(1, world, 0, OperationKind::kAllReduce, 1, 10);
  job.Add(2, world, 0, OperationKind::kAllReduce, 2, 10);
  job.Add(0, pair, 0, OperationKind::kAllReduce, 12, 14);
  job.Add(1, pair, 0, OperationKind::kAllReduce, 13, 14);
  const Trace trace = job.Build();
  const Ranking ranking = RankByLastArrivals(JoinedTrace(trace));
  EXPECT_EQ(ranking[0].rank_index, 2);
  EXPECT_DOUBLE_EQ(ranking[0].score, 1.0);
  EXPECT_EQ(ranking[1].rank_index, 1);
  EXPECT_DOUBLE_EQ(ranking[1].score, 0.5);
  EXPECT_DOUBLE_EQ(ranking[2].score, 0);
}

TEST(BaselineTest, WaitsGoToTheLastArriverAndToTheSender) {
  SmallTrace job(3);
  const int32_t world = job.AddCommunicator({2, 1, 0});
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    const double at = 20 * static_cast<double>(sequence);
    job.Add(0, world, sequence, OperationKind::kAllReduce, at, at + 10);
    job.Add(1, world, sequence, OperationKind::kAllReduce, at + 7, at + 10);
    job.Add(2, world, sequence, OperationKind::kAllReduce, at + 9, at + 10);
  }
  job.Add(1, world, 0, OperationKind::kRecv, 40, 45, /*peer=*/2);  // communicator rank 2 is rank 0
  const Trace trace = job.Build();
  const std::vector<WaitEdge> edges = WaitEdges(JoinedTrace(trace));
  ASSERT_EQ(edges.size(), 3u);
  EXPECT_EQ(edges[0].waiting, 0);
  EXPECT_EQ(edges[0].waited_for, 2);
  EXPECT_DOUBLE_EQ(edges[0].wait_ns, 18e6);
  EXPECT_EQ(edges[1].waiting, 1);
  EXPECT_EQ(edges[1].waited_for, 0);
  EXPECT_DOUBLE_EQ(edges[1].wait_ns, 5e6);
  EXPECT_EQ(edges[2].waited_for, 2);
  EXPECT_DOUBLE_EQ(edges[2].wait_ns, 4e6);
}

TEST(BaselineTest, TheWalkEndsWhereNobodyIsWaitedFor) {
  SmallTrace job(3);
  const int32_t world = job.AddCommunicator({0, 1, 2});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(1, world, 0, OperationKind::kAllReduce, 5, 10);
  job.Add(2, world, 0, OperationKind::kAllReduce, 9, 10);
  const Trace trace = job.Build();
  const Ranking ranking = RankByRandomWalk(JoinedTrace(trace));
  EXPECT_EQ(ranking[0].rank_index, 2);
  // Ranks 0 and 1 hold a third of the restart each, 0.05; the rest is at rank 2.
  EXPECT_NEAR(ranking[0].score, 0.90, 2e-3);
  EXPECT_NEAR(ranking[1].score, 0.05, 2e-3);
}

TEST(BaselineTest, APairThatWaitsForEachOtherIsAPoint) {
  SmallTrace job(32);
  for (int32_t rank = 0; rank < 32; ++rank) {
    const int32_t next = (rank + 1) % 32;
    const int32_t pair = job.AddCommunicator({rank, next});
    for (uint64_t sequence = 0; sequence < 4; ++sequence) {
      const double at = 100 * static_cast<double>(sequence) + 3 * rank;
      job.Add(rank, pair, sequence, OperationKind::kRecv, at, at + (rank == 5 ? 2.5 : 1), /*peer=*/1);
    }
  }
  const Trace trace = job.Build();
  EXPECT_TRUE(Accused(RankByWaitMatrix(JoinedTrace(trace))).empty()) << "2.4 times the mean is below 3 and below 5";

  for (uint64_t sequence = 4; sequence < 8; ++sequence) {
    job.Add(5, 5, sequence, OperationKind::kRecv, 1000 + 50 * static_cast<double>(sequence),
            1000 + 50 * static_cast<double>(sequence) + 20, /*peer=*/1);
  }
  const Trace worse = job.Build();
  std::vector<int32_t> accused = Accused(RankByWaitMatrix(JoinedTrace(worse)));
  std::sort(accused.begin(), accused.end());
  EXPECT_EQ(accused, (std::vector<int32_t>{5, 6}));
}

TEST(BaselineTest, MedianRatioComparesWithTheBestRank) {
  const Trace trace = DataParallelTrace({10, 10, 10, 20}, 9, 0, 3);
  const Ranking ranking = RankByMedianRatio(JoinedTrace(trace));
  EXPECT_EQ(Accused(ranking), std::vector<int32_t>{3});
  EXPECT_NEAR(ranking[0].score, -0.5, 1e-9);
  EXPECT_NEAR(ranking[1].score, -1.0, 1e-9);
}

TEST(BaselineTest, AnUnevenJobIsBlamedOnARankByThoseThatKnowNoStructure) {
  // Every eighth rank works half as much again by design, as a last pipeline stage does: nobody is broken.
  std::vector<double> own_ms(64, 10);
  for (size_t rank = 7; rank < own_ms.size(); rank += 8) own_ms[rank] = 15;
  const Trace trace = DataParallelTrace(own_ms, 20, 0.01, 4);
  EXPECT_EQ(Accused(RankByMedianRatio(JoinedTrace(trace))).size(), 8u);
}

TEST(JoinedTraceTest, UnfinishedLonelyAndPointToPointOperationsAreNoInstances) {
  SmallTrace job(2);
  const int32_t world = job.AddCommunicator({0, 1});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(0, world, 1, OperationKind::kAllReduce, 20, 30);
  job.Add(1, world, 1, OperationKind::kAllReduce, 21, 30);
  job.Add(1, world, 1, OperationKind::kSend, 31, 32, 0);
  Trace trace = job.Build();
  EXPECT_EQ(JoinedTrace(trace).instances(), 1u);
  trace.operations[1].end_ns = kNoTime;
  EXPECT_EQ(JoinedTrace(trace).instances(), 0u);
}

TEST(JoinedTraceTest, GapsAreClippedWhereOperationsOverlap) {
  SmallTrace job(1);
  const int32_t world = job.AddCommunicator({0});
  job.Add(0, world, 0, OperationKind::kAllReduce, 0, 10);
  job.Add(0, world, 1, OperationKind::kAllReduce, 5, 7);
  job.Add(0, world, 2, OperationKind::kAllReduce, 12, 13);
  const Trace trace = job.Build();
  EXPECT_EQ(GapsBefore(trace.OperationsOf(0)), (std::vector<int64_t>{0, 0, 2'000'000}));
}

}  // namespace
}  // namespace lockstep
