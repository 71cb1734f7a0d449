#include "detector/engine/look_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/roster.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMovingNs = 100 * kSecond;

// A rank that makes calls of a tensor group all the time, and of a data group in bursts.
class LookWindowTest : public testing::Test {
 protected:
  // The data group's bursts of five calls end at `from_seconds`, a period later, ... until `to_seconds`.
  void Bursts(double from_seconds, double to_seconds, double period_seconds) {
    for (double at = from_seconds; at < to_seconds; at += period_seconds) {
      for (int call = 0; call < 5; ++call) Call(2, at + 0.001 * call);
    }
  }

  void Call(int32_t communicator, double end_seconds) {
    const int64_t end_ns = kMovingNs + static_cast<int64_t>(end_seconds * kSecond);
    CommunicatorView view{.id = static_cast<CommunicatorId>(communicator)};
    view.operations = {{.kind = OperationKind::kAllReduce, .sequence = ++sequence_[communicator], .end_ns = end_ns}};
    window_.Observe(communicator, 0, view, end_ns, end_ns);
  }

  double Choose(double at_seconds, double step_seconds, double operations_per_second = 500, int64_t steps_to_see = 0) {
    const auto now_ns = kMovingNs + static_cast<int64_t>(at_seconds * kSecond);
    RankView view{.rank = 0, .world_size = 2};
    view.operations_finished = static_cast<uint64_t>(at_seconds * operations_per_second);
    const int32_t host = roster_.TouchHost("node-0", now_ns);
    roster_.Update(host, view, now_ns, now_ns);
    roster_.Join(0, {.id = 1, .size = 2, .communicator_rank = 0});
    for (; tensor_seconds_ < at_seconds; tensor_seconds_ += 0.02) Call(1, tensor_seconds_);
    return static_cast<double>(window_.Choose(roster_, step_seconds, steps_to_see)) / kSecond - 1;
  }

  Roster roster_{{}};
  LookWindow window_;
  std::map<int32_t, uint64_t> sequence_;  // by communicator
  double tensor_seconds_ = 0;
};

TEST_F(LookWindowTest, MicroBatchesAreNotBelievedOnceARarerCommunicatorRecurs) {
  Choose(0, 0);
  Choose(2, 0);
  EXPECT_TRUE(window_.Take(0.05, 0)) << "nothing rarer is known";
  EXPECT_TRUE(window_.believes_steps(0.05));
  Bursts(0, 5, 1);
  EXPECT_NEAR(Choose(5, 0.05), 4, 0.8) << "what was seen of bursts: 16 are wanted";
  EXPECT_FALSE(window_.believes_steps(0.05));
  EXPECT_FALSE(window_.Take(0.05, 0.05));
  EXPECT_TRUE(window_.Take(1.0, 0));
  EXPECT_TRUE(window_.believes_steps(1.0));
  Bursts(5, 60, 1);
  EXPECT_NEAR(Choose(60, 1.0), 16, 0.3);
}

TEST_F(LookWindowTest, StepsMuchShorterThanTheRarestCallAreBelievedOfALongWindow) {
  Choose(0, 0);
  Bursts(0, 100, 10);  // a checkpoint every ten seconds
  Choose(100, 0);
  EXPECT_TRUE(window_.Take(0.1, 0));
  EXPECT_NEAR(Choose(101, 0.1, /*operations_per_second=*/300), 6.4, 0.1);
}

TEST_F(LookWindowTest, StepsThatLooksFindAlikeForLongEnoughAreBelieved) {
  Choose(0, 0);
  Bursts(0, 31, 10);  // the job pauses every ten seconds
  EXPECT_NEAR(Choose(30, 0), 30, 1);
  EXPECT_FALSE(window_.Take(1, 0)) << "a tenth of what recurs";
  Bursts(40, 41, 10);
  EXPECT_NEAR(Choose(40, 0), 40, 2);
  EXPECT_FALSE(window_.Take(1, 0)) << "not long enough after";
  Bursts(50, 71, 10);
  EXPECT_NEAR(Choose(70, 0), 70, 3);
  EXPECT_TRUE(window_.Take(1, 0));
  EXPECT_TRUE(window_.believes_steps(1));
  EXPECT_TRUE(window_.is_sure_of(1));
  EXPECT_FALSE(window_.believes_steps(0.1));
}

TEST_F(LookWindowTest, WhatWasAnotherPhaseIsNoPartOfTheWindow) {
  Choose(0, 0);
  Bursts(30, 34.5, 1);  // half a minute of initialisation before
  EXPECT_NEAR(Choose(34, 0), 4, 0.8);
}

TEST_F(LookWindowTest, ALookThatFindsShorterStepsThanAreBelievedIsNotBelieved) {
  Choose(0, 0);
  Bursts(0, 20, 1);
  Choose(20, 0);
  EXPECT_TRUE(window_.Take(1.0, 0));
  EXPECT_FALSE(window_.Take(0.25, 1.0));
  EXPECT_TRUE(window_.believes_steps(1.0));
  EXPECT_TRUE(window_.Take(1.4, 1.0));
  EXPECT_FALSE(window_.Take(0, 1.0));
}

TEST_F(LookWindowTest, ALookThatFindsLongerStepsThanArePacedEndsTheBelief) {
  Choose(0, 0);
  Choose(2, 0);
  EXPECT_TRUE(window_.Take(0.05, 0));
  EXPECT_FALSE(window_.Take(0.8, 0.05)) << "one of the two is wrong";
  EXPECT_FALSE(window_.believes_steps(0.05));
  EXPECT_NEAR(Choose(30, 0.05), 16 * 0.8, 0.1) << "long enough to tell";
  EXPECT_TRUE(window_.Take(0.8, 0));
  EXPECT_TRUE(window_.believes_steps(0.8));
}

TEST_F(LookWindowTest, WhatHadBetterBeSeenIsSeenAsFarAsWindowsReach) {
  Choose(0, 0, 5000);
  Bursts(0, 100, 1);
  Choose(100, 0, 5000);
  EXPECT_TRUE(window_.Take(1.0, 0));
  EXPECT_NEAR(Choose(101, 1.0, 5000), 16, 0.1);
  EXPECT_NEAR(Choose(101, 1.0, 5000, /*steps_to_see=*/40), 40, 0.1);
  EXPECT_NEAR(Choose(101, 1.0, 5000, /*steps_to_see=*/80), 16, 0.1) << "out of reach";
}

TEST_F(LookWindowTest, WhatDoesNotFitIntoALookIsNotAskedFor) {
  Choose(0, 0);
  Bursts(0, 200, 25);
  Choose(100, 0, 500'000);
  const double window = Choose(200, 0, 500'000);  // ten megabytes a second
  EXPECT_NEAR(window, 2.5, 0.3);
  EXPECT_TRUE(window_.Take(25, 0)) << "more cannot be had";
}

}  // namespace
}  // namespace lockstep
