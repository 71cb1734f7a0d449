#include "detector/engine/look_window.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMovingNs = 100 * kSecond;

// A rank that makes `calls` of a tensor group and, once per second, one of a data group.
class LookWindowTest : public testing::Test {
 protected:
  double Choose(double at_seconds, double step_seconds, uint64_t data_calls, double operations_per_second = 500) {
    const auto now_ns = kMovingNs + static_cast<int64_t>(at_seconds * kSecond);
    RankView view{.rank = 0, .world_size = 2};
    view.operations_finished = static_cast<uint64_t>(at_seconds * operations_per_second);
    const int32_t host = roster_.TouchHost("node-0", now_ns);
    roster_.Update(host, view, now_ns, now_ns);
    Join(1, view.operations_finished);
    Join(2, data_calls);
    return static_cast<double>(window_.Choose(roster_, now_ns, kMovingNs, step_seconds)) / kSecond - 1;
  }

  void Join(CommunicatorId id, uint64_t finished) {
    roster_.Join(0, {.id = id, .size = 2, .communicator_rank = 0, .enqueued = finished, .finished = finished});
  }

  Roster roster_{{}};
  LookWindow window_;
};

TEST_F(LookWindowTest, MicroBatchesAreNotBelievedOnceARarerCommunicatorIsInUse) {
  Choose(0, 0, 0);
  Choose(2, 0, 0);
  EXPECT_TRUE(window_.Take(0.05, 0)) << "nothing rarer is known";
  EXPECT_TRUE(window_.believes_steps(0.05));
  EXPECT_NEAR(Choose(4, 0.05, 4), 5, 0.1) << "all that there was: 16 seconds are asked for";
  EXPECT_FALSE(window_.believes_steps(0.05));
  EXPECT_FALSE(window_.Take(0.05, 0.05));
  EXPECT_TRUE(window_.Take(1.0, 0));
  EXPECT_TRUE(window_.believes_steps(1.0));
  EXPECT_NEAR(Choose(60, 1.0, 60), 16, 0.1);
}

TEST_F(LookWindowTest, StepsMuchShorterThanTheRarestCallAreBelievedOfALongWindow) {
  Choose(0, 0, 0);
  Choose(80, 0, 8);  // a checkpoint every ten seconds
  EXPECT_TRUE(window_.Take(0.1, 0));
  EXPECT_NEAR(Choose(90, 0.1, 9), 6.4, 0.1);
}

TEST_F(LookWindowTest, ALookThatFindsOtherStepsThanAreBelievedIsNotBelieved) {
  Choose(0, 0, 0);
  Choose(20, 0, 20);
  EXPECT_TRUE(window_.Take(1.0, 0));
  Choose(40, 1.0, 40);
  EXPECT_FALSE(window_.Take(0.25, 1.0));
  EXPECT_FALSE(window_.Take(3.0, 1.0));
  EXPECT_TRUE(window_.Take(1.4, 1.0));
  EXPECT_FALSE(window_.Take(0, 1.0));
}

TEST_F(LookWindowTest, WhatDoesNotFitIntoALookIsNotAskedFor) {
  Choose(0, 0, 0);
  Choose(100, 0, 4, 500'000);
  const double window = Choose(200, 0, 8, 500'000);  // ten megabytes a second
  EXPECT_NEAR(window, 2.5, 0.3);
  EXPECT_TRUE(window_.Take(25, 0)) << "more cannot be had";
}

}  // namespace
}  // namespace lockstep
