#include "detector/steps/begins_seen.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

constexpr int kCalls = 20;

class BeginsSeenTest : public testing::Test {
 protected:
  // The same with two streams: gathers and reductions that begin while the other kind runs, one after the other.
  void AddRankOfTwoStreams(int64_t end_ns) {
    AddRank(0, TimingQuality::kUnknown, end_ns);
    for (size_t i = trace_.first_operation.end()[-2]; i < trace_.operations.size(); ++i) {
      trace_.operations[i].kind = i % 2 == 0 ? OperationKind::kAllGather : OperationKind::kReduceScatter;
    }
  }

  // Gathers and reductions that one thread hands over together, in streams of their own; with `lag_ns`, the reductions
  // wait for what their stream still does.
  void AddRankOfPairs(int64_t lag_ns) {
    AddRank(0);
    for (size_t i = trace_.first_operation.end()[-2]; i < trace_.operations.size(); i += 2) {
      TraceOperation& gather = trace_.operations[i];
      TraceOperation& reduction = trace_.operations[i + 1];
      gather.kind = OperationKind::kAllGather;
      reduction.kind = OperationKind::kReduceScatter;
      reduction.enqueue_ns = reduction.start_ns = gather.start_ns + lag_ns;
      reduction.end_ns = gather.end_ns + 100;
    }
  }

  // A rank of the one class, `seen` of whose calls begin after they were handed over.
  void AddRank(int seen, TimingQuality quality = TimingQuality::kUnknown, int64_t end_ns = 900) {
    const auto rank = static_cast<int32_t>(trace_.ranks.size());
    trace_.ranks.push_back({.rank = rank, .host = 0});
    roles_.classes.resize(1);
    roles_.classes[0].push_back(rank);
    if (trace_.first_operation.empty()) trace_.first_operation.push_back(0);
    for (int i = 0; i < kCalls; ++i) {
      const int64_t enqueue_ns = 1000 * i;
      trace_.operations.push_back({.enqueue_ns = enqueue_ns,
                                   .start_ns = enqueue_ns + (i < seen ? 300 : 0),
                                   .end_ns = enqueue_ns + end_ns,
                                   .quality = quality});
    }
    trace_.first_operation.push_back(trace_.operations.size());
  }

  Trace trace_;
  JobRoles roles_;
};

TEST_F(BeginsSeenTest, ARankWithoutBeginsAmongRanksWithThemIsFound) {
  for (int rank = 0; rank < 3; ++rank) AddRank(kCalls);
  AddRank(2);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 1}));
}

TEST_F(BeginsSeenTest, WhereMostPeersBeginAtOnceWhoIsInsideForLongerOnlyWaitsLonger) {
  for (int rank = 0; rank < 9; ++rank) AddRank(0, TimingQuality::kUnknown, /*end_ns=*/500 + 10 * rank);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), std::vector<char>(9, 0));
}

TEST_F(BeginsSeenTest, WhoseCollectivesBeginWhileTheOneBeforeThemRunsNeedsNoPeersThatTell) {
  for (int rank = 0; rank < 2; ++rank) AddRank(kCalls);
  for (int rank = 0; rank < 2; ++rank) AddRank(0, TimingQuality::kUnknown, /*end_ns=*/2500);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 1, 1}));
}

TEST_F(BeginsSeenTest, WhereMostRanksBeginOutOfTurnTheTimesAreBegins) {
  AddRank(kCalls);
  for (int rank = 0; rank < 3; ++rank) AddRank(0, TimingQuality::kUnknown, /*end_ns=*/2500);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 0}));
}

TEST_F(BeginsSeenTest, KindsOfACommunicatorMayHaveStreamsOfTheirOwn) {
  for (int rank = 0; rank < 3; ++rank) AddRankOfTwoStreams(/*end_ns=*/1900);
  AddRankOfTwoStreams(/*end_ns=*/4500);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 1}));
}

// As on the GPUs of one host whose NVLink is slow: their gathers still run when the next reductions begin.
TEST_F(BeginsSeenTest, WhereKindsHaveStreamsOneOfThemMayBeLateOnOneRank) {
  for (int rank = 0; rank < 3; ++rank) AddRankOfPairs(/*lag_ns=*/0);
  AddRankOfPairs(/*lag_ns=*/400);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 0}));
}

TEST_F(BeginsSeenTest, WhereKindsShareAStreamTheyTakeTurns) {
  for (int rank = 0; rank < 3; ++rank) AddRankOfTwoStreams(/*end_ns=*/900);
  AddRankOfTwoStreams(/*end_ns=*/1900);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 1}));
}

TEST_F(BeginsSeenTest, WhatTheRecorderSaysOfItsTimesCountsMoreThanTheTimes) {
  for (int rank = 0; rank < 3; ++rank) AddRank(kCalls, TimingQuality::kGpuTimer);
  AddRank(kCalls, TimingQuality::kHostEnqueue);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 1}));
}

TEST_F(BeginsSeenTest, AHostThatIssuesWorkLateIsNotTakenForABlindRecorder) {
  for (int rank = 0; rank < 3; ++rank) AddRank(kCalls);
  AddRank(0, TimingQuality::kUnknown, /*end_ns=*/100);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 0}));
}

TEST_F(BeginsSeenTest, WhereNoPeersBeginIsToldFromItsCallTheTimesAreBegins) {
  for (int rank = 0; rank < 4; ++rank) AddRank(0);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 0}));
}

TEST_F(BeginsSeenTest, AQuickHostMayBeginATenthOfItsCallsAtOnce) {
  for (int rank = 0; rank < 3; ++rank) AddRank(kCalls);
  AddRank(3);
  EXPECT_EQ(RanksWithoutBegins(trace_, roles_), (std::vector<char>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace lockstep
