#include "detector/slow/more_input.h"

#include <cstdint>
#include <optional>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 8, kSteps = 10, kCalls = 4, kSlow = 5;
constexpr uint64_t kUsualBytes = 1'000'000;

// Eight peers that exchange in one group, four times per step. Sizes vary by 1 % from rank to rank.
class MoreInputTest : public ::testing::Test {
 protected:
  MoreInputTest() {
    analysis_.trace = &trace_;
    analysis_.steps.steps = kSteps;
    analysis_.steps.ranks = kRanks;
    analysis_.roles.communicators = {{.family = 0}};
    analysis_.roles.classes = {{}};
    trace_.communicators = {{.name = "ep"}};
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      analysis_.roles.classes[0].push_back(rank);
      analysis_.roles.class_of_rank.push_back(0);
      trace_.communicators[0].members.push_back(rank);
      trace_.ranks.push_back({.rank = rank, .host = rank / 2});
      for (int32_t step = 0; step < kSteps; ++step) {
        const auto begin = static_cast<uint32_t>(trace_.operations.size());
        for (int32_t call = 0; call < kCalls; ++call) {
          trace_.operations.push_back({.sequence = static_cast<uint64_t>(step * kCalls + call),
                                       .bytes = kUsualBytes + static_cast<uint64_t>(rank % 3) * 10'000,
                                       .communicator = 0,
                                       .kind = OperationKind::kAllToAll});
        }
        analysis_.steps.ranges.push_back({begin, begin + kCalls, true});
      }
    }
    analysis_.peers = analysis_.roles.classes;
  }

  void Give(int32_t rank, double times, int32_t since = 0) {
    for (int32_t step = since; step < kSteps; ++step) {
      for (int32_t call = 0; call < kCalls; ++call) {
        uint64_t& bytes = trace_.operations[static_cast<size_t>((rank * kSteps + step) * kCalls + call)].bytes;
        bytes = static_cast<uint64_t>(static_cast<double>(bytes) * times);
      }
    }
  }

  // Of a rank that works `longer` as long again as its peers, from a step on.
  std::optional<MoreInput> Find(double longer, int32_t first_step = 0) const {
    SlowCause cause;
    cause.suspects = {{.rank = kSlow, .first_step = first_step, .excess_seconds = longer, .own_seconds = 1 + longer}};
    return FindMoreInput(analysis_, cause);
  }

  Trace trace_;
  TraceAnalysis analysis_;
};

TEST_F(MoreInputTest, WhoHandsOnMoreHasMoreToDo) {
  Give(kSlow, 1.4);
  const std::optional<MoreInput> more = Find(0.4);
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(more->kind, OperationKind::kAllToAll);
  EXPECT_NEAR(more->bytes / more->peer_bytes, 1.4, 0.03);
  EXPECT_EQ(more->peers, 7u);
}

TEST_F(MoreInputTest, HalfOfTheExcessIsEnoughAndLessIsNot) {
  Give(kSlow, 1.3);
  EXPECT_TRUE(Find(0.5).has_value());
  EXPECT_FALSE(Find(0.9).has_value()) << "the machine is slow as well";
}

TEST_F(MoreInputTest, EqualSizesExplainNothing) { EXPECT_FALSE(Find(0.4).has_value()); }

TEST_F(MoreInputTest, WhatIsGivenBeforeIsNoReason) {
  Give(kSlow, 1.4);
  for (int32_t rank = 0; rank < kRanks; ++rank) Give(rank, rank == kSlow ? 1 / 1.4 : 1, 5);
  EXPECT_FALSE(Find(0.4, 5).has_value());
}

TEST_F(MoreInputTest, SizesThatVaryThatMuchTellNothing) {
  for (int32_t rank = 0; rank < kRanks; ++rank) Give(rank, 1 + 0.2 * rank);
  EXPECT_FALSE(Find(0.2).has_value());
}

TEST_F(MoreInputTest, UnknownSizesTellNothing) {
  for (TraceOperation& operation : trace_.operations) operation.bytes = 0;
  EXPECT_FALSE(Find(0.4).has_value());
}

}  // namespace
}  // namespace lockstep
