#include "detector/sentinel/call_gaps.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr double kBin = 0.2;  // periods are known to a fifth

class CallGapsTest : public testing::Test {
 protected:
  // A collective of the communicator, which ended at that second of the host's clock.
  void Call(int32_t communicator, double end_seconds, int32_t rank = 0) {
    const auto end_ns = static_cast<int64_t>(end_seconds * kSecond);
    CommunicatorView view{.id = 7};
    view.operations = {{.kind = OperationKind::kAllReduce, .sequence = ++sequence_, .end_ns = end_ns}};
    gaps_.Observe(communicator, rank, view, end_ns, end_ns);
  }

  // `count` bursts of ten calls, so far apart.
  void Bursts(int32_t communicator, double from_seconds, double period_seconds, int count) {
    for (int burst = 0; burst < count; ++burst) {
      for (int call = 0; call < 10; ++call) Call(communicator, from_seconds + burst * period_seconds + 0.005 * call);
    }
  }

  double Period() { return gaps_.Rarest().period_seconds; }

  uint64_t sequence_ = 0;
  CallGaps gaps_;
};

TEST_F(CallGapsTest, ThePeriodOfBurstsIsTheirDistanceAndNotTheMeanDistanceOfCalls) {
  Bursts(0, 100, 2.0, 5);
  EXPECT_NEAR(Period(), 2.0, 2.0 * kBin);
  EXPECT_NEAR(gaps_.Rarest().seen_seconds, 8.0, 8.0 * kBin);
}

TEST_F(CallGapsTest, OneLongGapIsNoPeriodAndTwoAre) {
  Call(0, 100);
  Call(0, 103);
  EXPECT_EQ(Period(), 0);
  Call(0, 106);
  EXPECT_NEAR(Period(), 3.0, 3.0 * kBin);
}

TEST_F(CallGapsTest, TheRarestCommunicatorCounts) {
  for (int i = 0; i < 100; ++i) Call(0, 100 + 0.1 * i);
  Bursts(1, 100, 2.5, 5);
  EXPECT_NEAR(Period(), 2.5, 2.5 * kBin);
}

TEST_F(CallGapsTest, NeitherTheWaitBeforeTheFirstStepNorACheckpointNowAndThenIsAPeriod) {
  Call(0, 10);
  Bursts(0, 40, 1.0, 30);
  Bursts(0, 90, 1.0, 30);
  Bursts(0, 140, 1.0, 30);
  EXPECT_NEAR(Period(), 1.0, 1.0 * kBin);
}

TEST_F(CallGapsTest, WhatIsSilentForTwoPeriodsIsOver) {
  Bursts(0, 100, 2.0, 5);
  for (int i = 0; i < 60; ++i) Call(1, 110 + 0.1 * i);
  CommunicatorView idle{.id = 8};
  gaps_.Observe(0, 0, idle, 116 * kSecond, 116 * kSecond);
  EXPECT_NEAR(Period(), 0.1, 0.1 * kBin);
}

TEST_F(CallGapsTest, WhereReportsListNoOperationsTheCounterTells) {
  CommunicatorView view{.id = 7};
  for (int64_t second = 0; second < 20; ++second) {
    view.finished = static_cast<uint64_t>(1 + second / 4);
    gaps_.Observe(0, 0, view, second * kSecond, second * kSecond);
  }
  EXPECT_NEAR(Period(), 4.0, 4.0 * kBin);
}

TEST_F(CallGapsTest, SendsAndTheCallsOfOtherMembersDoNotCount) {
  CommunicatorView view{.id = 7};
  for (int64_t second = 0; second < 10; ++second) {
    view.operations = {{.kind = OperationKind::kSend, .sequence = static_cast<uint64_t>(second), .end_ns = second}};
    gaps_.Observe(0, 0, view, second * kSecond, second * kSecond);
  }
  EXPECT_EQ(Period(), 0);
  Bursts(1, 100, 2.0, 4);
  sequence_ = 0;
  for (int i = 0; i < 40; ++i) Call(1, 100 + 0.2 * i, /*rank=*/3);
  EXPECT_NEAR(Period(), 2.0, 2.0 * kBin);
}

TEST_F(CallGapsTest, AnotherMemberIsTheWitnessWhenTheFirstFallsSilent) {
  Bursts(0, 100, 2.0, 4);
  for (int i = 0; i < 12; ++i) Call(0, 5000 + 3.0 * i, /*rank=*/3);
  EXPECT_NEAR(Period(), 3.0, 3.0 * kBin) << "the two clocks have nothing in common";
}

TEST_F(CallGapsTest, WatchedTimeIsThatOfTheHostsClock) {
  Call(0, 100);
  Call(1, 130);
  Call(0, 140);
  EXPECT_NEAR(gaps_.watched_seconds(), 40, 1e-9);
  gaps_.Clear();
  EXPECT_EQ(gaps_.watched_seconds(), 0);
}

}  // namespace
}  // namespace lockstep
