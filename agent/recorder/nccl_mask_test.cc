// Who decides about NCCL's mask, and the sums of what transfers waited for.

#include "agent/recorder/nccl_mask.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_handle.h"
#include "agent/recorder/nccl_transfers.h"
#include "agent/recorder/ring_access.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

using nccl_abi::kKernelCh;
using nccl_abi::kProxyStep;

constexpr uint64_t kDefault = 70;  // Coll, P2p, KernelCh
constexpr int64_t kSecond = 1'000'000'000;

RingHeader* MakeRing(const RingDirectory& directory) {
  RingOptions options;
  options.directory = directory.path().c_str();
  options.operation_capacity = 64;
  options.transfer_capacity = NcclTransfers::kMaxRows;
  return CreateRingFile(options);
}

class NcclMaskTest : public ::testing::Test {
 protected:
  NcclMaskTest() {
    mask_.Attach(&word_, 5, 0);
    mask_.Update(header_, 0, true, kSecond);
  }
  uint64_t Update(int64_t now_ns, uint32_t level = 0) {
    mask_.Update(header_, level, false, now_ns);
    EXPECT_EQ(header_->active_mask, static_cast<uint64_t>(word_));
    return static_cast<uint64_t>(word_);
  }
  void Ask(uint64_t mask, int64_t until_ns) {
    header_->control.expires_at_ns = static_cast<uint64_t>(until_ns);
    header_->control.event_mask = mask;
  }

  RingDirectory directory_;
  RingHeader* header_ = MakeRing(directory_);
  int word_ = 0;
  NcclMask mask_;
};

TEST_F(NcclMaskTest, DefaultsDependOnWhatTheVersionOffers) {
  EXPECT_EQ(Update(kSecond), kDefault);
  EXPECT_EQ(NcclMask::DefaultFor(7), kDefault);
  EXPECT_EQ(NcclMask::DefaultFor(2), nccl_abi::kColl | nccl_abi::kP2p | nccl_abi::kProxyOp);
}

TEST_F(NcclMaskTest, ARequestEndsByItself) {
  Ask(94 | 1 << 20, 5 * kSecond);
  EXPECT_TRUE(mask_.IsStale(header_, kSecond));
  EXPECT_EQ(Update(kSecond), 94u);
  EXPECT_FALSE(mask_.IsStale(header_, 4 * kSecond));
  EXPECT_TRUE(mask_.IsStale(header_, 5 * kSecond));
  EXPECT_EQ(Update(5 * kSecond), kDefault);
  EXPECT_FALSE(mask_.IsStale(header_, 6 * kSecond));
}

TEST_F(NcclMaskTest, ARequestIsBoundedAndCannotLeaveOperationsOut) {
  Ask(kProxyStep, INT64_MAX);
  EXPECT_EQ(Update(kSecond), NcclMask::kAlways | kProxyStep);
  EXPECT_EQ(Update(kSecond + NcclMask::kMaxRequestNanos), kDefault);
  // Asked anew.
  Ask(kProxyStep, 200 * kSecond);
  EXPECT_EQ(Update(150 * kSecond), NcclMask::kAlways | kProxyStep);
}

TEST_F(NcclMaskTest, TheGovernorNarrows) {
  Ask(94, 50 * kSecond);
  EXPECT_EQ(Update(kSecond, 1), kDefault);
  EXPECT_EQ(Update(kSecond, 2), NcclMask::kAlways);
  EXPECT_EQ(Update(kSecond, 0), 94u);
}

TEST_F(NcclMaskTest, WhatTheReleaseForbidsIsNeverAsked) {
  mask_.Attach(&word_, 4, kKernelCh);
  EXPECT_EQ(Update(kSecond), NcclMask::kAlways);
  Ask(94, 50 * kSecond);
  EXPECT_EQ(Update(kSecond) & kKernelCh, 0u);
}

TEST_F(NcclMaskTest, SomebodyElsesMaskIsRespectedAndSeen) {
  word_ = 2;
  EXPECT_TRUE(mask_.IsStale(header_, kSecond));
  EXPECT_EQ(Update(kSecond), 2u);
  EXPECT_EQ(Update(kSecond, 2), 2u);
  EXPECT_EQ(header_->nccl.foreign_masks, 1u);
  EXPECT_FALSE(mask_.IsStale(header_, kSecond));
  word_ = kDefault;
  EXPECT_EQ(Update(kSecond, 2), NcclMask::kAlways);
  word_ = 3;
  Update(kSecond, 2);
  mask_.Update(header_, 0, true, kSecond);  // a new communicator
  EXPECT_EQ(word_, static_cast<int>(kDefault));
  EXPECT_EQ(header_->nccl.foreign_masks, 2u);
}

TEST_F(NcclMaskTest, AChainedPluginGetsWhatItAsksForAtAnyTime) {
  static std::atomic<int> others{256};
  mask_.set_chained_word(&others);
  EXPECT_EQ(Update(kSecond, 2), NcclMask::kAlways | 256);
  others = 32;
  EXPECT_TRUE(mask_.IsStale(header_, kSecond));
  EXPECT_EQ(Update(kSecond), kDefault | 32);
  mask_.Withdraw();
  EXPECT_EQ(word_, 32);
}

class NcclTransfersTest : public ::testing::Test {
 protected:
  const TransferWaits& Row(uint32_t row) {
    auto* slots = reinterpret_cast<OperationSlot*>(Communicators(header_) + header_->communicator_capacity);
    return reinterpret_cast<TransferWaits*>(slots + header_->operation_capacity)[row];
  }

  RingDirectory directory_;
  RingHeader* header_ = MakeRing(directory_);
  std::unique_ptr<NcclTransfers> transfers_ = std::make_unique<NcclTransfers>();
};

TEST_F(NcclTransfersTest, ACommunicatorThatIsNotKnownYetHasNoRows) {
  EXPECT_EQ(transfers_->FindOrAdd(header_, kNoCommunicator, 7, true), NcclTransfers::kNoTransfer);
  EXPECT_EQ(header_->nccl.transfers_dropped, 0u);
}

TEST_F(NcclTransfersTest, WaitsGoToWhatWasWaitedFor) {
  const uint32_t row = transfers_->FindOrAdd(header_, 3, 7, true);
  EXPECT_EQ(transfers_->FindOrAdd(header_, 3, 7, true), row);
  EXPECT_NE(transfers_->FindOrAdd(header_, 3, 7, false), row);
  const Handle step = transfers_->StartStep(header_, row, 1000);
  transfers_->ChangeStep(header_, step, nccl_abi::kStepSendGpuWait, 0, 1010);
  transfers_->ChangeStep(header_, step, nccl_abi::kStepSendPeerWait, 0, 1100);
  transfers_->ChangeStep(header_, step, 4711, 0, 1150);
  transfers_->ChangeStep(header_, step, nccl_abi::kStepSendWait, 4096, 1300);
  transfers_->StopStep(header_, step, 2000);
  EXPECT_EQ(Row(row).ready, 1u);
  EXPECT_EQ(Row(row).communicator, 3u);
  EXPECT_EQ(Row(row).peer, 7);
  EXPECT_EQ(Row(row).is_send, 1u);
  EXPECT_EQ(Row(row).waits_ns[0], 100u);
  EXPECT_EQ(Row(row).waits_ns[1], 200u);
  EXPECT_EQ(Row(row).waits_ns[2], 700u);
  EXPECT_EQ(Row(row).steps, 1u);
  EXPECT_EQ(Row(row).bytes, 4096u);
}

TEST_F(NcclTransfersTest, LateAndRepeatedEventsFindNothing) {
  const uint32_t row = transfers_->FindOrAdd(header_, 0, 1, false);
  const Handle step = transfers_->StartStep(header_, row, 100);
  transfers_->StopStep(header_, step, 200);
  transfers_->StopStep(header_, step, 300);
  transfers_->ChangeStep(header_, step, nccl_abi::kStepRecvGpuWait, 0, 400);
  EXPECT_EQ(Row(row).steps, 1u);
  EXPECT_EQ(Row(row).waits_ns[0], 100u);
  EXPECT_EQ(Row(row).waits_ns[2], 0u);
}

TEST_F(NcclTransfersTest, WhatFindsNoRoomIsCountedAndAbandonedStepsMakeRoom) {
  const uint32_t row = transfers_->FindOrAdd(header_, 0, 1, true);
  uint32_t held = 0;
  for (uint32_t i = 0; i < NcclTransfers::kMaxSteps + 10; ++i) {
    held += transfers_->StartStep(header_, row, kSecond).type() == HandleType::kStep ? 1 : 0;
  }
  EXPECT_EQ(held, NcclTransfers::kMaxSteps);
  EXPECT_EQ(header_->nccl.transfers_dropped, 10u);
  EXPECT_EQ(transfers_->StartStep(header_, row, kSecond + NcclTransfers::kAbandonedNanos).type(), HandleType::kStep);
  uint32_t rows = 1;
  for (int32_t peer = 2; peer < 3000; ++peer) {
    rows += transfers_->FindOrAdd(header_, 0, peer, true) != NcclTransfers::kNoTransfer ? 1 : 0;
  }
  EXPECT_GT(rows, NcclTransfers::kMaxRows * 9 / 10);
  EXPECT_LE(rows, NcclTransfers::kMaxRows);
  EXPECT_EQ(header_->nccl.transfers_dropped, 10u + 2999 - rows);
}

}  // namespace
}  // namespace lockstep::ring
