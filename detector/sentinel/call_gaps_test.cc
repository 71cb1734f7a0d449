#include "detector/sentinel/call_rates.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;

class CallRatesTest : public testing::Test {
 protected:
  // The host's clock; the collector's stands still.
  void At(int64_t host_seconds) {
    roster_.Update(roster_.TouchHost("node-0", kSecond), {.rank = 0, .world_size = 2}, kSecond, host_seconds * kSecond);
  }

  void Finish(CommunicatorId id, uint64_t finished, int64_t idle_ns = 0) {
    roster_.Join(
        0,
        {.id = id, .size = 2, .communicator_rank = 0, .enqueued = finished, .finished = finished, .idle_ns = idle_ns});
  }

  double Rarest() {
    rates_.Observe(roster_);
    return rates_.rarest_period_seconds();
  }

  Roster roster_{{}};
  CallRates rates_;
};

TEST_F(CallRatesTest, TheRarestThatRecursCounts) {
  At(100);
  Finish(1, 1000);
  Finish(2, 10);
  EXPECT_EQ(Rarest(), 0);
  At(140);
  Finish(1, 1800);
  Finish(2, 30);
  EXPECT_NEAR(Rarest(), 2.0, 1e-9);
  EXPECT_NEAR(rates_.watched_seconds(), 40, 1e-9);
}

TEST_F(CallRatesTest, WhatIsNoLongerUsedDoesNotCount) {
  At(100);
  Finish(1, 0);
  Finish(2, 0);
  Rarest();
  At(108);
  Finish(1, 800);
  Finish(2, 4);
  EXPECT_NEAR(Rarest(), 2.0, 1e-9);
  At(180);
  Finish(1, 8000);
  Finish(2, 4, /*idle_ns=*/72 * kSecond);
  EXPECT_NEAR(Rarest(), 0.01, 1e-9);
}

TEST_F(CallRatesTest, CommunicatorsThatAppearLaterCountFromThenOnAndSingleCallsDoNot) {
  At(100);
  Finish(1, 0);
  Rarest();
  At(110);
  Finish(1, 100);
  Finish(2, 2);
  EXPECT_NEAR(Rarest(), 0.1, 1e-9);
  At(120);
  Finish(2, 5);
  Finish(1, 200);
  EXPECT_NEAR(Rarest(), 2.0, 1e-9);
  Finish(1, 50);  // contradicts itself
  EXPECT_GT(Rarest(), 0);
  rates_.Clear();
  EXPECT_EQ(Rarest(), 0);
}

}  // namespace
}  // namespace lockstep
