// The parts of the NCCL recorder that need no NCCL: names, clocks, releases, the governor, handles, pairs of handles.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_chain.h"
#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_governor.h"
#include "agent/recorder/nccl_gpu_clock.h"
#include "agent/recorder/nccl_handle.h"
#include "agent/recorder/nccl_names.h"
#include "agent/recorder/nccl_releases.h"
#include "agent/recorder/ring_file.h"
#include "base/random.h"

namespace lockstep::ring {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(NcclNamesTest, TextsAndCodesMeanTheSame) {
  EXPECT_EQ(NcclKind("ReduceScatter"), OperationKind::kReduceScatter);
  EXPECT_EQ(NcclKind(uint8_t{3}), OperationKind::kReduceScatter);
  EXPECT_EQ(NcclDatatypeBytes("ncclBfloat16"), 2);
  EXPECT_EQ(NcclDatatypeBytes(uint8_t{9}), 2);
  EXPECT_EQ(NcclAlgorithm("NVLS_TREE"), Algorithm::kNvlsTree);
  EXPECT_EQ(NcclAlgorithm(uint8_t{5}), Algorithm::kNvlsTree);
  EXPECT_EQ(NcclProtocol("LL128"), Protocol::kLl128);
  EXPECT_EQ(NcclProtocol(uint8_t{1}), Protocol::kLl128);
}

TEST(NcclNamesTest, WhatIsNotKnownIsUnknown) {
  EXPECT_EQ(NcclKind(nullptr), OperationKind::kUnknown);
  EXPECT_EQ(NcclKind("AllReduceAndMore"), OperationKind::kUnknown);
  EXPECT_EQ(NcclKind(uint8_t{200}), OperationKind::kUnknown);
  EXPECT_EQ(NcclDatatypeBytes(""), 0);
}

// NCCL may put another text where one was before: the memo must see it.
TEST(NcclNamesTest, MemoFollowsTheTextAndNotItsAddress) {
  NameMemo memo;
  char text[32] = "AllReduce";
  char datatype[32] = "ncclFloat16";
  const char algorithm[32] = "RING";
  const char protocol[32] = "LL128";
  const auto find = [&](const char* function) { return memo.Find({function, datatype, algorithm, protocol}); };
  EXPECT_EQ(find(text).kind, OperationKind::kAllReduce);
  EXPECT_EQ(find(text).kind, OperationKind::kAllReduce);
  std::string("AllGather\0", 10).copy(text, 10);
  EXPECT_EQ(find(text).kind, OperationKind::kAllGather);
  EXPECT_EQ(find(text).datatype_bytes, 2);
  EXPECT_EQ(find(text).algorithm, Algorithm::kRing);
  EXPECT_EQ(find(text).protocol, Protocol::kLl128);
  std::string("ncclFloat64\0", 12).copy(datatype, 12);
  EXPECT_EQ(find(text).datatype_bytes, 8);
  EXPECT_EQ(find(nullptr).kind, OperationKind::kUnknown);
  EXPECT_EQ(find(nullptr).datatype_bytes, 8);
  const NameMeanings nameless = memo.Find({NameMemo::kNoName, NameMemo::kNoName, NameMemo::kNoName, NameMemo::kNoName});
  EXPECT_EQ(nameless.kind, OperationKind::kUnknown);
  EXPECT_EQ(nameless.algorithm, Algorithm::kUnknown);
}

TEST(NcclHandleTest, ComesBackAsItWent) {
  const Handle handle(HandleType::kChannel, 255, 123'456'789'012);
  const Handle back(handle.pointer());
  EXPECT_EQ(back.type(), HandleType::kChannel);
  EXPECT_EQ(back.detail(), 255u);
  EXPECT_EQ(back.number(), 123'456'789'012u);
  EXPECT_NE(Handle(HandleType::kGroup, 0, 0).pointer(), nullptr);
  EXPECT_EQ(Handle(nullptr).type(), HandleType::kNone);
}

TEST(NcclReleasesTest, VersionAndInterfaceMustBelongTogether) {
  EXPECT_EQ(JudgeRelease(22809, 5, false).disabled, DisabledReason::kNone);
  EXPECT_EQ(JudgeRelease(22809, 7, false).disabled, DisabledReason::kUnknownAbi);
  EXPECT_EQ(JudgeRelease(22809, 7, true).disabled, DisabledReason::kNone);
  EXPECT_EQ(JudgeRelease(0, 3, false).disabled, DisabledReason::kNone);  // linked statically
  EXPECT_EQ(JudgeRelease(23206, 7, false).disabled, DisabledReason::kNone);
  EXPECT_EQ(JudgeRelease(22200, 1, false).disabled, DisabledReason::kUnknownAbi);
}

TEST(NcclReleasesTest, DefectsAreAvoided) {
  EXPECT_EQ(JudgeRelease(23003, 6, false).disabled, DisabledReason::kDefectiveRelease);
  EXPECT_EQ(JudgeRelease(23004, 6, false).disabled, DisabledReason::kNone);
  EXPECT_EQ(JudgeRelease(22707, 4, false).denied_events, nccl_abi::kKernelCh);
  EXPECT_EQ(JudgeRelease(22706, 4, false).denied_events, 0u);
  EXPECT_EQ(JudgeRelease(23003, 6, true).disabled, DisabledReason::kNone);
}

TEST(OverheadGovernorTest, NarrowsAboveTheBudgetAndWidensWhenAllWouldFit) {
  OverheadGovernor governor;
  governor.set_budget(0.01);
  uint64_t cost = 0;
  uint64_t full = 0;
  int64_t now = kSecond;
  const auto pass = [&](int64_t seconds, uint64_t cost_ns, uint64_t full_ns) {
    for (int64_t i = 0; i < seconds; ++i) governor.Update(now += kSecond, cost += cost_ns, full += full_ns);
    return governor.level();
  };
  governor.Update(now, cost, full);
  EXPECT_EQ(pass(5, 9'000'000, 9'000'000), 0u);
  EXPECT_EQ(pass(1, 20'000'000, 20'000'000), 1u);
  EXPECT_EQ(pass(1, 20'000'000, 20'000'000), 2u);
  // What is left cannot be governed.
  EXPECT_EQ(pass(5, 20'000'000, 40'000'000), 2u);
  // Everything would cost too much again, for however long.
  EXPECT_EQ(pass(30, 4'000'000, 6'000'000), 2u);
  EXPECT_EQ(pass(1, 2'000'000, 4'000'000), 0u);
  EXPECT_EQ(governor.changes(), 3u);
}

TEST(OverheadGovernorTest, DoesNotSwing) {
  OverheadGovernor governor;
  governor.set_budget(0.01);
  governor.Update(kSecond, 0, 0);
  EXPECT_EQ(governor.Update(2 * kSecond, 50'000'000, 50'000'000), 1u);
  // Quiet at once, but not for long enough.
  EXPECT_EQ(governor.Update(4 * kSecond, 50'000'000, 50'000'000), 1u);
  EXPECT_EQ(governor.Update(13 * kSecond, 50'000'000, 50'000'000), 0u);
}

TEST(GpuClockTest, BoundsTheOffsetFromBothSides) {
  GpuClock clock;
  clock.Reset();
  EXPECT_LT(clock.Map().error_ns, 0);
  constexpr int64_t kOffset = -123'456'789;
  clock.Observe(1'000'000'000, 1'000'000'000 + kOffset - 8'000, 1'000'000'000 + kOffset + 2'000);
  const GpuClock::Mapping mapping = clock.Map();
  EXPECT_EQ(mapping.error_ns, 5'000 + GpuClock::kDriftNs);
  EXPECT_NEAR(mapping.offset_ns, kOffset, mapping.error_ns);
}

TEST(GpuClockTest, ErrorHoldsWhileClocksDriftAndCallbacksAreLate) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    GpuClock clock;
    clock.Reset();
    const double rate = 1 + (static_cast<double>(random.Below(80)) - 40) * 1e-6;  // up to 40 ppm
    int64_t host_ns = 50 * kSecond;
    for (int i = 0; i < 5000; ++i) {
      host_ns += static_cast<int64_t>(random.Below(3'000'000));
      const auto gpu_ns = static_cast<int64_t>(static_cast<double>(host_ns) * rate) - 7 * kSecond;
      const auto lead = static_cast<int64_t>(3'000 + random.Below(2'000'000));
      const auto lag = static_cast<int64_t>(1'000 + random.Below(random.Below(10) == 0 ? 5'000'000 : 50'000));
      clock.Observe(gpu_ns, host_ns - lead, host_ns + lag);
      const GpuClock::Mapping mapping = clock.Map();
      ASSERT_GE(mapping.error_ns, 0) << "seed " << seed;
      ASSERT_LE(std::abs(gpu_ns + mapping.offset_ns - host_ns), mapping.error_ns) << "seed " << seed;
      host_ns += lag;
    }
  }
}

TEST(CycleClockTest, AgreesWithTheSystemClockWithinItsStatedError) {
  CycleClock clock;
  clock.Start(IsCycleCounterInvariant());
  const int64_t end_ns = MonotonicNs() + 5 * CycleClock::kAnchorNanos / 2;
  uint64_t readings = 0;
  while (true) {
    const int64_t before_ns = MonotonicNs();
    const int64_t now_ns = clock.NowNs();
    const int64_t after_ns = MonotonicNs();
    const int64_t slack_ns = clock.largest_error_ns() + CycleClock::kMaxErrorNs;
    ASSERT_GE(now_ns, before_ns - slack_ns);
    ASSERT_LE(now_ns, after_ns + slack_ns);
    ++readings;
    if (after_ns >= end_ns) break;
  }
  EXPECT_GT(readings, 0u);
}

TEST(CycleClockTest, WithoutACounterIsTheSystemClock) {
  CycleClock clock;
  clock.Start(false);
  const int64_t before_ns = MonotonicNs();
  const int64_t now_ns = clock.NowNs();
  EXPECT_GE(now_ns, before_ns);
  EXPECT_LE(now_ns, MonotonicNs());
}

TEST(ChainTest, ParentsCanBeNamedWhenChildrenAreWanted) {
  using namespace nccl_abi;
  EXPECT_EQ(WithParents(kProxyStep), kProxyStep | kProxyOp | kColl | kP2p | kGroup | kCollApi | kP2pApi | kGroupApi);
  EXPECT_EQ(WithParents(kCeSync), kCeSync | kCeColl | kCollApi | kGroupApi);
  EXPECT_EQ(WithParents(0), 0u);
}

TEST(ChainTest, PairsAreFoundUntilTheirPlaceIsNeeded) {
  static HandlePairs pairs;
  int own = 0;
  int other = 0;
  EXPECT_EQ(pairs.Add({nullptr, nullptr}), nullptr);
  void* const kept = pairs.Add({&own, &other});
  void* const closed = pairs.Add({&own, nullptr});
  pairs.Close(closed);
  EXPECT_EQ(pairs.Find(closed).own, &own);
  for (uint32_t i = 0; i < HandlePairs::kMaxPairs + 10; ++i) pairs.Close(pairs.Add({&own, nullptr}));
  EXPECT_EQ(pairs.Find(kept).other, &other);
  EXPECT_EQ(pairs.Find(closed).own, nullptr);
  EXPECT_EQ(pairs.Find(&own).own, nullptr);
}

}  // namespace
}  // namespace lockstep::ring
