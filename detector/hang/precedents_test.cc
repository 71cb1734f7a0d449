#include "detector/hang/precedents.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/hang/trace_frontier.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMs = 1'000'000;

// Four ranks on four hosts whose clocks agree; communicators {0, 1}, {2, 3} and all. In each step of 100 ms a rank
// works for 40 ms, enters its pair at 40 ms and leaves it at 45 ms, then meets all from 80 to 90 ms. Rank 0 comes to
// its pair 3 ms late in each step. Ten steps; a test adds what follows.
class PrecedentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int32_t rank = 0; rank < 4; ++rank) {
      trace_.hosts.push_back("h" + std::to_string(rank));
      trace_.ranks.push_back({.rank = rank, .host = rank});
    }
    trace_.communicators = {
        {.name = "a", .members = {0, 1}}, {.name = "b", .members = {2, 3}}, {.name = "all", .members = {0, 1, 2, 3}}};
    rows_.resize(4);
    for (int64_t step = 0; step < 10; ++step) {
      for (size_t rank = 0; rank < 4; ++rank) {
        const int64_t late_ms = rank == 0 ? 3 : 0;
        Add(rank, static_cast<int32_t>(rank / 2), 100 * step + 40 + late_ms, 100 * step + 45);
        Add(rank, 2, 100 * step + 80, 100 * step + 90);
      }
    }
  }

  // `end_ms` < 0: still inside.
  void Add(size_t rank, int32_t communicator, int64_t start_ms, int64_t end_ms) {
    uint64_t sequence = 0;
    for (const TraceOperation& row : rows_[rank]) sequence += row.communicator == communicator ? 1 : 0;
    rows_[rank].push_back({.enqueue_ns = start_ms * kMs,
                           .start_ns = start_ms * kMs,
                           .end_ns = end_ms < 0 ? kNoTime : end_ms * kMs,
                           .sequence = sequence,
                           .communicator = communicator,
                           .kind = OperationKind::kAllReduce,
                           .quality = quality_});
  }

  // The host calls something at that moment, and nothing begins.
  void Call(size_t rank, int64_t at_ms) {
    Add(rank, 2, at_ms, -1);
    rows_[rank].back().start_ns = kNoTime;
  }

  const Trace& Written() {
    trace_.operations.clear();
    trace_.first_operation.clear();
    for (const std::vector<TraceOperation>& rows : rows_) {
      trace_.first_operation.push_back(trace_.operations.size());
      trace_.operations.insert(trace_.operations.end(), rows.begin(), rows.end());
    }
    trace_.first_operation.push_back(trace_.operations.size());
    return trace_;
  }

  Trace trace_;
  std::vector<std::vector<TraceOperation>> rows_;
  TimingQuality quality_ = TimingQuality::kGpuTimer;
};

TEST_F(PrecedentsTest, AWaitIsWithoutPrecedentAtTwiceTheLongest) {
  Add(1, 0, 1040, -1);
  const auto waits = [&](int64_t now_ms) {
    Call(1, now_ms);
    const Frontier frontier = FrontierOf(Written());
    rows_[1].pop_back();
    return Precedents(frontier).WaitLongest({1}, 0, Precedents::Tail::kExponential);
  };
  EXPECT_FALSE(waits(1054));
  EXPECT_TRUE(waits(1055)) << "5 ms before, ten times";
  // A stall in the other communicator of two members: such a wait is nothing new in the job.
  Add(2, 1, 960, 981);
  EXPECT_FALSE(waits(1060));
  EXPECT_FALSE(waits(1095)) << "the longest of a dozen, but not by that much";
  EXPECT_TRUE(waits(1105));
}

// Of two operations one has lasted for 15 ms where 5 ms were the longest, the other for as long as usual.
TEST_F(PrecedentsTest, OfManyWaitsMoreIsAsked) {
  Add(1, 0, 1040, -1);
  Add(2, 1, 1050, -1);
  for (const size_t rank : {1, 2}) Call(rank, 1055);
  const Frontier frontier = FrontierOf(Written());
  const Precedents precedents(frontier);
  EXPECT_TRUE(precedents.WaitLongest({1}, 0, Precedents::Tail::kExponential)) << "once in 11^3 moments";
  EXPECT_FALSE(precedents.WaitLongest({1}, 1.1, Precedents::Tail::kExponential));
  EXPECT_FALSE(precedents.WaitLongest({2}, 0, Precedents::Tail::kExponential));
  EXPECT_FALSE(precedents.WaitLongest({1, 2}, 0, Precedents::Tail::kExponential)) << "once in 666 looks at two";
  EXPECT_FALSE(precedents.WaitLongest({1}, 0, Precedents::Tail::kUnknown)) << "ten moments tell no more than 1 in 121";
  EXPECT_FALSE(precedents.WaitLongest({}, 0, Precedents::Tail::kExponential));
}

TEST_F(PrecedentsTest, TheLongestWaitsMustBeAShareOfAll) {
  Add(1, 0, 1040, -1);
  Add(2, 1, 1068, -1);
  for (const size_t rank : {1, 2}) Call(rank, 1070);
  const Frontier frontier = FrontierOf(Written());
  const Precedents precedents(frontier);
  EXPECT_TRUE(precedents.WaitLongest({1, 2}, 0.5, Precedents::Tail::kExponential));
  EXPECT_FALSE(precedents.WaitLongest({1, 2}, 0.6, Precedents::Tail::kExponential));
}

TEST_F(PrecedentsTest, WhatEndedInTheOlderHalfIsNoPrecedent) {
  rows_[1][4].end_ns += 30 * kMs;
  Add(1, 0, 1040, -1);
  Call(1, 1065);
  EXPECT_TRUE(Precedents(FrontierOf(Written())).WaitLongest({1}, 0, Precedents::Tail::kExponential));
  rows_[1][16].end_ns += 30 * kMs;
  EXPECT_FALSE(Precedents(FrontierOf(Written())).WaitLongest({1}, 0, Precedents::Tail::kExponential));
}

TEST_F(PrecedentsTest, AKindThatNeverEndedBeforeHasNone) {
  Add(1, 0, 1040, -1);
  rows_[1].back().kind = OperationKind::kBroadcast;
  Call(1, 9000);
  EXPECT_FALSE(Precedents(FrontierOf(Written())).WaitLongest({1}, 0, Precedents::Tail::kExponential));
}

TEST_F(PrecedentsTest, ATransferIsMeasuredFromTheLastToCome) {
  // Rank 1 was inside for 5 ms each time, the last to come for 2.
  Add(0, 0, 1043, -1);
  Add(1, 0, 1030, -1);
  const auto lasts = [&](int64_t now_ms) {
    for (const size_t rank : {0, 1}) Call(rank, now_ms);
    const Frontier frontier = FrontierOf(Written());
    BlockedOperation blocked{.communicator = 0, .sequence = 10, .kind = OperationKind::kAllReduce, .at = {0, 1}};
    for (const size_t rank : {0, 1}) blocked.operations.push_back(trace_.first_operation[rank + 1] - 2);
    for (const size_t rank : {0, 1}) rows_[rank].pop_back();
    return Precedents(frontier).TransfersLongest(blocked);
  };
  EXPECT_FALSE(lasts(1047));
  EXPECT_TRUE(lasts(1048));
}

TEST_F(PrecedentsTest, AnAbsenceIsMeasuredByTheLastRecordOfAnybody) {
  // No rank works for longer than 53 ms; rank 3 has left everything at 990 ms. Its host's clock is an hour ahead.
  for (TraceOperation& row : rows_[3]) {
    for (int64_t* ns : {&row.enqueue_ns, &row.start_ns, &row.end_ns}) *ns += 3'600'000 * kMs;
  }
  Add(2, 1, 1040, -1);
  const auto absent = [&](int64_t now_ms) {
    Call(2, now_ms);
    const Frontier frontier = FrontierOf(Written());
    rows_[2].pop_back();
    return Precedents(frontier).AbsenceToLongest(3).value_or(0) > 2;
  };
  EXPECT_FALSE(absent(1096));
  EXPECT_TRUE(absent(1097));
}

TEST_F(PrecedentsTest, WhereNothingHasEndedThereAreNone) {
  Add(1, 0, 1040, -1);
  EXPECT_TRUE(HasPrecedents(FrontierOf(Written())));
  rows_[1].back().quality = TimingQuality::kHostEnqueue;
  EXPECT_TRUE(HasPrecedents(FrontierOf(Written()))) << "from call to end is a length of time as well";
  for (std::vector<TraceOperation>& rows : rows_) {
    for (TraceOperation& row : rows) row.end_ns = kNoTime;
  }
  EXPECT_FALSE(HasPrecedents(FrontierOf(Written())));
}

}  // namespace
}  // namespace lockstep
