#include "detector/hardware/ras_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;

RasClaim Behind(int32_t rank, uint64_t highest) {
  return {.kind = RasClaimKind::kBehind,
          .operation = OperationKind::kAllReduce,
          .communicator = 7,
          .size = 8,
          .rank = rank,
          .highest = highest,
          .lowest = highest - 1,
          .ranks_behind = 1};
}

RasStatement Answer(std::vector<RasClaim> claims) {
  return {.asked_host_ns = 0, .communicators = 1, .left_out = 0, .claims = std::move(claims)};
}

TEST(RasMemoryTest, EqualClaimsOfOneAskerStandOnAndOthersBeginAnew) {
  RasMemory memory;
  memory.Observe("a", Answer({Behind(2, 17), Behind(5, 9)}), 100 * kSecond, 3 * kSecond);
  memory.Observe("a", Answer({Behind(2, 17), Behind(5, 10)}), 115 * kSecond, 3 * kSecond);
  const std::vector<RasStanding> fresh = memory.Fresh(120 * kSecond);
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[0].claim.rank, 2);
  EXPECT_EQ(fresh[0].answers, 2);
  // Asked three seconds before the report was made.
  EXPECT_EQ(fresh[0].since_ns, 97 * kSecond);
  EXPECT_EQ(fresh[0].asked_ns, 112 * kSecond);
  EXPECT_EQ(fresh[1].answers, 1);
  EXPECT_EQ(fresh[1].since_ns, 112 * kSecond);
}

TEST(RasMemoryTest, WhoDoesNotAnswerAndIsThenHeldToBeDeadIsGoneAllTheTime) {
  RasMemory memory;
  RasClaim gone{.kind = RasClaimKind::kUnresponsive, .communicator = 7, .size = 8, .rank = 3, .pid = 41};
  memory.Observe("a", Answer({gone}), 100 * kSecond, 0);
  gone.kind = RasClaimKind::kDead;
  memory.Observe("a", Answer({gone}), 115 * kSecond, 0);
  EXPECT_EQ(memory.Fresh(115 * kSecond)[0].answers, 2);
  gone.pid = 42;
  memory.Observe("a", Answer({gone}), 130 * kSecond, 0);
  EXPECT_EQ(memory.Fresh(130 * kSecond)[0].answers, 1);
}

TEST(RasMemoryTest, AskersCountForThemselvesAndTheLongerRunIsTold) {
  RasMemory memory;
  memory.Observe("a", Answer({Behind(2, 17)}), 100 * kSecond, 0);
  memory.Observe("b", Answer({Behind(2, 17)}), 101 * kSecond, 0);
  EXPECT_EQ(memory.Fresh(102 * kSecond)[0].answers, 1);
  memory.Observe("a", Answer({Behind(2, 17)}), 115 * kSecond, 0);
  const std::vector<RasStanding> fresh = memory.Fresh(116 * kSecond);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].answers, 2);
}

TEST(RasMemoryTest, AnOldAnswerSaysNothingAndAnAnswerWithoutClaimsSpeaks) {
  RasMemory memory;
  EXPECT_FALSE(memory.Speaks(0));
  memory.Observe("a", Answer({Behind(2, 17)}), 100 * kSecond, 0);
  EXPECT_TRUE(memory.Fresh(100 * kSecond + RasMemory::kFreshNs + 1).empty());
  EXPECT_FALSE(memory.Speaks(100 * kSecond + RasMemory::kFreshNs + 1));
  memory.Observe("a", Answer({}), 200 * kSecond, 0);
  EXPECT_TRUE(memory.Speaks(200 * kSecond));
  EXPECT_TRUE(memory.Fresh(200 * kSecond).empty());
}

TEST(RasMemoryTest, WhatDoesNotFitIsCounted) {
  RasMemory memory;
  std::vector<RasClaim> many;
  for (int32_t rank = 0; rank < static_cast<int32_t>(RasMemory::kMaxClaims) + 3; ++rank) {
    many.push_back(Behind(rank, 5));
  }
  memory.Observe("a", Answer(many), 100 * kSecond, 0);
  EXPECT_EQ(memory.Fresh(100 * kSecond).size(), RasMemory::kMaxClaims);
  EXPECT_EQ(memory.refused(), 3u);
  EXPECT_TRUE(memory.IsCut(100 * kSecond));
  for (size_t i = 0; i <= RasMemory::kMaxAskers; ++i) {
    memory.Observe("host-" + std::to_string(i), Answer({}), 200 * kSecond, 0);
  }
  // The one that has not asked for the longest went first; the last one came too late.
  EXPECT_FALSE(memory.IsCut(100 * kSecond));
}

}  // namespace
}  // namespace lockstep
