#include "agent/recorder/handle_table.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "agent/recorder/peer_sequences.h"
#include "base/random.h"

namespace lockstep::ring {
namespace {

TEST(HandleTable, AgreesWithAMapUnderRandomUse) {
  HandleTable<int, 256> table;
  std::map<uint64_t, int> reference;
  Random random(1);
  for (int step = 0; step < 100'000; ++step) {
    const uint64_t key = 16 * (1 + random.Below(100));
    int value = -1;
    if (reference.contains(key)) {
      ASSERT_TRUE(table.Find(key, &value));
      ASSERT_EQ(value, reference[key]);
      if (random.Below(2) == 0) {
        ASSERT_TRUE(table.Take(key, &value));
        reference.erase(key);
      }
    } else {
      ASSERT_FALSE(table.Find(key, &value));
      ASSERT_FALSE(table.Take(key, &value));
      if (table.Insert(key, step)) reference[key] = step;
    }
  }
}

TEST(HandleTable, RefusesWhenFullAndTakesAgainAfterRemoval) {
  HandleTable<int, 16> table;
  for (uint64_t key = 2; key < 18; ++key) ASSERT_TRUE(table.Insert(key, 0));
  EXPECT_FALSE(table.Insert(99, 0));
  int value;
  ASSERT_TRUE(table.Take(5, &value));
  EXPECT_TRUE(table.Insert(99, 7));
  ASSERT_TRUE(table.Find(99, &value));
  EXPECT_EQ(value, 7);
}

TEST(HandleTable, ThreadsWithHandlesOfTheirOwnDoNotDisturbEachOther) {
  HandleTable<uint64_t, 1024> table;
  std::vector<std::thread> threads;
  for (uint64_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&table, thread] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t key = thread << 20 | (i % 32 + 1) << 4;
        uint64_t value = 0;
        ASSERT_TRUE(table.Insert(key, i));
        ASSERT_TRUE(table.Take(key, &value));
        ASSERT_EQ(value, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PeerSequences, CountPerCommunicatorPeerAndDirection) {
  static PeerSequences sequences;
  EXPECT_EQ(sequences.Next(0, 1, OperationKind::kSend), 1U);
  EXPECT_EQ(sequences.Next(0, 1, OperationKind::kSend), 2U);
  EXPECT_EQ(sequences.Next(0, 1, OperationKind::kRecv), 1U);
  EXPECT_EQ(sequences.Next(0, 2, OperationKind::kSend), 1U);
  EXPECT_EQ(sequences.Next(1, 1, OperationKind::kSend), 1U);
  EXPECT_EQ(sequences.Next(0, -2, OperationKind::kRecv), 1U);
  EXPECT_EQ(sequences.Next(kNoCommunicator, 1, OperationKind::kRecv), 1U);
}

TEST(PeerSequences, AreUnknownBeyondTheLimit) {
  static PeerSequences sequences;
  uint64_t unknown = 0;
  for (int32_t peer = 0; peer < static_cast<int32_t>(PeerSequences::kCapacity) + 1; ++peer) {
    if (sequences.Next(0, peer, OperationKind::kSend) == 0) ++unknown;
  }
  EXPECT_GT(unknown, 0U);
  EXPECT_EQ(sequences.Next(0, 0, OperationKind::kSend), 2U) << "known ones go on";
}

}  // namespace
}  // namespace lockstep::ring
