// Counts of functions become one count of the communicator, equal on all members.

#include "formats/function_counts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

using Numbers = std::vector<uint64_t>;

// What one process recorded, in its order: "A3" is AllGather 3, "R3" ReduceScatter 3. Each is called a second after the
// one before, and over by the next, but for "R3?", which has not ended.
std::vector<Numbers> CountsOf(const std::vector<std::vector<const char*>>& processes) {
  std::vector<std::vector<TraceOperation>> recorded;
  for (const std::vector<const char*>& names : processes) {
    std::vector<TraceOperation>& operations = recorded.emplace_back();
    for (const char* name : names) {
      TraceOperation& operation = operations.emplace_back();
      operation.kind = name[0] == 'A' ? OperationKind::kAllGather : OperationKind::kReduceScatter;
      operation.sequence = std::stoull(name + 1);
      operation.enqueue_ns = static_cast<int64_t>(operations.size()) * 1'000'000'000;
      if (absl::EndsWith(name, "?")) continue;
      operation.end_ns = operation.enqueue_ns + 500'000'000;
    }
  }
  std::vector<CountedCall> calls;
  for (size_t process = 0; process < recorded.size(); ++process) {
    for (TraceOperation& operation : recorded[process]) calls.push_back({static_cast<int32_t>(process), &operation});
  }
  CountPerCommunicator(calls);
  std::vector<Numbers> numbers;
  for (const std::vector<TraceOperation>& operations : recorded) {
    Numbers& own = numbers.emplace_back();
    for (const TraceOperation& operation : operations) own.push_back(operation.sequence);
  }
  return numbers;
}

TEST(FunctionCountsTest, OperationsAreCountedInTheOrderOfTheCalls) {
  const std::vector<const char*> calls = {"A7", "A8", "R3", "A9", "R4"};
  EXPECT_EQ(CountsOf({calls, calls}), (std::vector<Numbers>{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}));
  const std::vector<const char*> same = {"A3", "A4", "R3", "R4", "A5"};
  EXPECT_EQ(CountsOf({same, same}), (std::vector<Numbers>{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}));
}

TEST(FunctionCountsTest, ACountOfTheCommunicatorStaysAsItIs) {
  EXPECT_EQ(CountsOf({{"A3", "R4", "A5"}, {"A3", "R4"}}), (std::vector<Numbers>{{3, 4, 5}, {3, 4}}));
}

TEST(FunctionCountsTest, WhatHasNotEndedComesLast) {
  EXPECT_EQ(CountsOf({{"A3", "R3", "A4?"}, {"A3", "R3", "A4?"}}), (std::vector<Numbers>{{0, 1, 2}, {0, 1, 2}}));
}

TEST(FunctionCountsTest, WhatOneMemberLostLeavesAGapThere) {
  EXPECT_EQ(CountsOf({{"A3", "R3", "A4", "R4", "A5"}, {"A3", "A4", "R4"}, {"R3", "R4", "A5"}}),
            (std::vector<Numbers>{{0, 1, 2, 3, 4}, {0, 2, 3}, {1, 3, 4}}));
}

TEST(FunctionCountsTest, OrdersOfSeveralMembersMakeOne) {
  EXPECT_EQ(CountsOf({{"A3", "R3", "A4"}, {"R3", "A4", "R4"}, {"R4", "A5"}}),
            (std::vector<Numbers>{{0, 1, 2}, {1, 2, 3}, {3, 4}}));
}

TEST(FunctionCountsTest, OrdersThatContradictEachOtherStillGiveOneNumberToEach) {
  const std::vector<Numbers> counts = CountsOf({{"A3", "R3", "A4"}, {"R3", "A3", "A4"}});
  EXPECT_EQ(counts[0][0], counts[1][1]);
  EXPECT_EQ(counts[0][1], counts[1][0]);
  EXPECT_EQ(counts[0][2], 2u);
  EXPECT_EQ(counts[1][2], 2u);
}

}  // namespace
}  // namespace lockstep
