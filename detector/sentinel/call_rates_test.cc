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
  CallRatesTest() { roster_.Update(roster_.TouchHost("node-0", kSecond), {.rank = 0, .world_size = 2}, kSecond, 0); }

  void Finish(CommunicatorId id, uint64_t finished, int64_t idle_ns = 0) {
    roster_.Join(
        0,
        {.id = id, .size = 2, .communicator_rank = 0, .enqueued = finished, .finished = finished, .idle_ns = idle_ns});
  }

  Roster roster_{{}};
  CallRates rates_;
};

TEST_F(CallRatesTest, TheRarestThatRecursCounts) {
  Finish(1, 1000);
  Finish(2, 10);
  EXPECT_EQ(rates_.RarestPeriodSeconds(roster_, 100 * kSecond), 0);
  Finish(1, 1800);
  Finish(2, 30);
  EXPECT_NEAR(rates_.RarestPeriodSeconds(roster_, 140 * kSecond), 2.0, 1e-9);
}

TEST_F(CallRatesTest, WhatIsNoLongerUsedDoesNotCount) {
  Finish(1, 0);
  rates_.RarestPeriodSeconds(roster_, 100 * kSecond);
  Finish(1, 800);
  Finish(2, 4);
  EXPECT_NEAR(rates_.RarestPeriodSeconds(roster_, 108 * kSecond), 2.0, 1e-9);
  Finish(1, 8000);
  Finish(2, 4, /*idle_ns=*/72 * kSecond);
  EXPECT_NEAR(rates_.RarestPeriodSeconds(roster_, 180 * kSecond), 0.01, 1e-9);
}

TEST_F(CallRatesTest, CommunicatorsThatAppearLaterCountFromThenOnAndSingleCallsDoNot) {
  Finish(1, 0);
  rates_.RarestPeriodSeconds(roster_, 100 * kSecond);
  Finish(1, 100);
  Finish(2, 2);
  EXPECT_NEAR(rates_.RarestPeriodSeconds(roster_, 110 * kSecond), 0.1, 1e-9);
  Finish(2, 5);
  EXPECT_NEAR(rates_.RarestPeriodSeconds(roster_, 110 * kSecond), 2.0, 1e-9);
  Finish(1, 50);  // contradicts itself
  EXPECT_GT(rates_.RarestPeriodSeconds(roster_, 111 * kSecond), 0);
  rates_.Clear();
  EXPECT_EQ(rates_.RarestPeriodSeconds(roster_, 112 * kSecond), 0);
}

}  // namespace
}  // namespace lockstep
