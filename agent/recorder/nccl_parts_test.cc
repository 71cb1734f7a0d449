// The parts of the NCCL recorder that need no NCCL: names, clocks, releases, the governor, handles, pairs of handles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_chain.h"
#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_governor.h"
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

// The estimate halves while twenty times as many calls are made: what was spent before stays spent.
TEST(SpentTimeTest, NeverFallsWhileEstimatesDo) {
  SpentTime spent;
  SpentTime::Calls calls;
  for (int i = 0; i < 20; ++i) spent.channel.Learn(50'000);
  uint64_t cost_ns = 0;
  for (int second = 0; second < 60; ++second) {
    calls.operations += 400;
    calls.channels += 800;
    calls.channels_asked += 800;
    spent.Charge(calls);
    EXPECT_GT(spent.cost_ns(), cost_ns);
    EXPECT_LT(spent.cost_ns() - cost_ns, 20'000'000 + 800 * 50'000);
    EXPECT_EQ(spent.full_cost_ns(), spent.cost_ns());
    cost_ns = spent.cost_ns();
    spent.channel.Learn(80);
  }
}

TEST(SpentTimeTest, ChargesEachCallOnceAndWhatWasNotAskedForOnlyToTheWhole) {
  SpentTime spent;
  spent.Charge({.operations = 10, .channels_asked = 0, .channels = 40, .steps = 5});
  const uint64_t channels_ns = 40 * spent.channel.ns();
  EXPECT_EQ(spent.cost_ns(), 10 * spent.operation.ns() + 5 * spent.step.ns());
  EXPECT_EQ(spent.full_cost_ns(), spent.cost_ns() + channels_ns);
  spent.Charge({.operations = 10, .channels_asked = 0, .channels = 40, .steps = 5});
  EXPECT_EQ(spent.full_cost_ns(), spent.cost_ns() + channels_ns);
}

// The reference sorts; calls that were preempted are a tenth.
TEST(MedianCostTest, IsNearTheMedianWhateverTheSlowestTake) {
  Random random(3);
  MedianCost cost(60);
  std::vector<int64_t> samples;
  for (int i = 0; i < 2000; ++i) {
    const bool is_preempted = random.Below(10) == 0;
    samples.push_back(static_cast<int64_t>(is_preempted ? 4'000'000 : 150 + random.Below(100)));
    cost.Learn(samples.back());
  }
  std::sort(samples.begin(), samples.end());
  const int64_t median = samples[samples.size() / 2];
  EXPECT_NEAR(static_cast<double>(cost.ns()), static_cast<double>(median), 0.5 * static_cast<double>(median));
}

TEST(OverheadGovernorTest, OneSlowCallCostsNoLevel) {
  SpentTime spent;
  OverheadGovernor governor;
  SpentTime::Calls calls;
  for (int64_t second = 1; second < 30; ++second) {
    calls.operations += 400;
    calls.channels += 800;
    calls.channels_asked += 800;
    spent.channel.Learn(second % 5 == 0 ? 900'000'000 : 200);
    spent.operation.Learn(second % 7 == 0 ? 900'000'000 : 300);
    spent.Charge(calls);
    EXPECT_EQ(governor.Update(second * kSecond, spent.cost_ns(), spent.full_cost_ns()), 0u);
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

// Whoever finds the next correction due together with another thread must not take the rate from what lies between.
TEST(CycleClockTest, ThreadsThatCorrectItTogetherDoNotSpoilIt) {
  constexpr int kThreads = 4;
  CycleClock clock;
  clock.Start(IsCycleCounterInvariant());
  const int64_t end_ns = MonotonicNs() + 12 * CycleClock::kAnchorNanos;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (clock.NowNs() < end_ns && MonotonicNs() < end_ns) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(clock.largest_error_ns(), CycleClock::kMaxErrorNs);
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
