#include "agent/sources/rings/ring_shares.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/kept_operations.h"
#include "agent/sources/rings/ring_snapshot.h"

namespace lockstep {
namespace {

TEST(RingSharesTest, EightRanksOfOneUserAreReadWhole) {
  const RingAllowance allowance = FairAllowance(1, 8);
  EXPECT_EQ(allowance.operations, 32'768u);
  EXPECT_EQ(allowance.communicators, ring::kMaxCommunicators);
  EXPECT_EQ(allowance.transfers, 16'384u);
}

TEST(RingSharesTest, ManyRingsOfOneUserLeaveTheOtherHisHalf) {
  EXPECT_EQ(FairAllowance(2, 256).operations, 512u);
  EXPECT_EQ(FairAllowance(2, 2).operations, 65'536u);
  EXPECT_EQ(FairShare(10, 100, 100), 1u) << "nobody is mute";
}

TEST(KeptOperationsTest, SequencesThatAreMultiplesOfEverythingDoNotEscapeThinning) {
  RingSnapshot kept;
  kept.finished.resize(1024);  // all of sequence 0
  for (int i = 0; i < 25; ++i) ThinKept(kept);
  EXPECT_LE(kept.finished.size(), 32u);
  EXPECT_EQ(kept.thinned + kept.finished.size(), 1024u);
}

}  // namespace
}  // namespace lockstep
