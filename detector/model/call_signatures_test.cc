#include "detector/model/call_signatures.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Calls are given rank after rank.
class CallSignaturesTest : public testing::Test {
 protected:
  CallSignaturesTest() {
    for (const size_t members : {2u, 2u, 4u}) {
      trace_.communicators.push_back({.members = std::vector<int32_t>(members, -1)});
    }
  }

  void NextRank() {
    trace_.ranks.emplace_back();
    trace_.first_operation.push_back(trace_.operations.size());
  }

  void Call(int32_t communicator, OperationKind kind, int times) {
    for (int i = 0; i < times; ++i) trace_.operations.push_back({.communicator = communicator, .kind = kind});
  }

  std::vector<uint64_t> Sign() {
    trace_.first_operation.push_back(trace_.operations.size());
    return SignCalls(trace_);
  }

  Trace trace_;
};

TEST_F(CallSignaturesTest, GroupsOfOneSizeAreOneKindOfCallHoweverOften) {
  NextRank();
  Call(0, OperationKind::kAllReduce, 100);
  NextRank();
  Call(1, OperationKind::kAllReduce, 50);
  NextRank();
  Call(2, OperationKind::kAllReduce, 100);
  NextRank();
  Call(1, OperationKind::kAllGather, 100);
  EXPECT_EQ(Sign(), (std::vector<uint64_t>{0, 0, 1, 2}));
}

TEST_F(CallSignaturesTest, WhatNoRankCallsMoreThanAFewTimesDoesNotCount) {
  for (const int checkpoints : {0, 7}) {
    NextRank();
    Call(0, OperationKind::kAllReduce, 100);
    Call(2, OperationKind::kBroadcast, checkpoints);
  }
  EXPECT_EQ(Sign(), (std::vector<uint64_t>{0, 0}));
}

TEST_F(CallSignaturesTest, WhatOneRankCallsOftenCountsForThoseThatLostMostOfIt) {
  for (const int times : {0, 1, 8}) {
    NextRank();
    Call(0, OperationKind::kAllReduce, 100);
    Call(2, OperationKind::kBroadcast, times);
  }
  EXPECT_EQ(Sign(), (std::vector<uint64_t>{0, 1, 1}));
}

TEST_F(CallSignaturesTest, AFewCallsAreMuchOfAShortRecord) {
  for (const int times : {0, 2}) {
    NextRank();
    Call(0, OperationKind::kAllReduce, 4);
    Call(2, OperationKind::kBroadcast, times);
  }
  EXPECT_EQ(Sign(), (std::vector<uint64_t>{0, 1}));
}

}  // namespace
}  // namespace lockstep
