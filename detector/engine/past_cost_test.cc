#include "detector/engine/past_cost.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kMinCost = 0.03;

// Steps took 1 s, and take 1.2 s since step 10. Twenty hosts of one rank.
class PastCostTest : public ::testing::Test {
 protected:
  PastCostTest() {
    for (int32_t rank = 0; rank < 20; ++rank) {
      trace_.hosts.push_back("h" + std::to_string(rank));
      trace_.ranks.push_back({.rank = rank, .host = rank});
    }
    shift_.first_step = 10;
    shift_.before_seconds = 1;
    shift_.after_seconds = 1.2;
  }

  // That no replay finds to cost anything.
  void AddCause(int32_t rank, int32_t first_step, double excess_seconds) {
    causes_.push_back({.suspects = {{.rank = rank, .first_step = first_step, .excess_seconds = excess_seconds}}});
    gains_.of_ranks.push_back({.step_seconds = 1.2, .steps_affected = 1, .replayed = true});
  }

  double SlowdownOf(size_t cause) {
    CounterfactualGains gains = gains_;
    PayFromPast(trace_, shift_, causes_, transfers_, kMinCost, &gains);
    return gains.of_ranks[cause].slowdown();
  }

  // The same between two hosts.
  void AddTransfers(int32_t host, int32_t first_step, double excess_seconds) {
    transfers_.push_back({.first_step = first_step, .hosts = {host, host + 1}, .excess_seconds = excess_seconds});
    gains_.of_transfers.push_back({.step_seconds = 1.2, .steps_affected = 1, .replayed = true});
  }

  double SlowdownOfTransfers(size_t transfers) {
    CounterfactualGains gains = gains_;
    PayFromPast(trace_, shift_, causes_, transfers_, kMinCost, &gains);
    return gains.of_transfers[transfers].slowdown();
  }

  Trace trace_;
  StepShift shift_;
  std::vector<SlowCause> causes_;
  std::vector<SlowTransfers> transfers_;
  CounterfactualGains gains_;
};

TEST_F(PastCostTest, WhoBecameSlowWhenTheStepsDidCostsItsExcess) {
  AddCause(3, 10, 0.15);
  AddCause(5, 11, 0.9);
  EXPECT_NEAR(SlowdownOf(0), 0.15 / 1.2, 1e-9);
  EXPECT_NEAR(SlowdownOf(1), 0.2 / 1.2, 1e-9) << "no more than the steps got longer by";
}

TEST_F(PastCostTest, WhoBecameSlowAtAnotherTimeOrByLittleCostsNothing) {
  AddCause(3, 10, 0.15);
  AddCause(5, 6, 0.15);
  AddCause(7, 10, 0.04);
  EXPECT_EQ(SlowdownOf(1), 0);
  EXPECT_EQ(SlowdownOf(2), 0);
}

TEST_F(PastCostTest, WhoseRecordsAreLostSinceTheStepsBecameLongerMayHaveBegunWithThem) {
  AddCause(3, 13, 0.15);
  EXPECT_FALSE(BeganWith(causes_[0], shift_));
  EXPECT_EQ(SlowdownOf(0), 0);
  causes_[0].suspects[0].unknown_before = 3;
  EXPECT_TRUE(BeganWith(causes_[0], shift_));
  EXPECT_NEAR(SlowdownOf(0), 0.15 / 1.2, 1e-9);
}

TEST_F(PastCostTest, WhatIsExplainedIsPaidFor) {
  AddCause(3, 10, 0.15);
  AddCause(5, 10, 0.15);
  gains_.of_ranks[1].seconds_per_step = 0.1;
  EXPECT_EQ(SlowdownOf(0), 0);
  gains_.of_ranks[1].seconds_per_step = 0;
  EXPECT_GT(SlowdownOf(0), 0);
  gains_.of_transfers.push_back({.seconds_per_step = 0.1, .step_seconds = 1.2, .steps_affected = 1});
  EXPECT_EQ(SlowdownOf(0), 0);
}

TEST_F(PastCostTest, TransfersThatBecameSlowWhenTheStepsDidCostTheirExcess) {
  AddTransfers(3, 10, 0.15);
  EXPECT_NEAR(SlowdownOfTransfers(0), 0.15 / 1.2, 1e-9);
  transfers_[0].in_step.assign(20, 0);
  EXPECT_EQ(SlowdownOfTransfers(0), 0) << "they come and go";
  transfers_[0].in_step.clear();
  transfers_[0].first_step = 5;
  EXPECT_EQ(SlowdownOfTransfers(0), 0) << "they began earlier";
}

TEST_F(PastCostTest, WhereTransfersOfManyHostsBecameSlowNoneIsTheCause) {
  AddTransfers(3, 10, 0.15);
  AddTransfers(7, 10, 0.15);
  EXPECT_EQ(SlowdownOfTransfers(0), 0);
}

TEST_F(PastCostTest, WhereManyBecameSlowNoneIsTheCause) {
  for (int32_t rank = 0; rank < 4; ++rank) AddCause(rank, 10, 0.15);
  EXPECT_EQ(SlowdownOf(0), 0);
}

TEST_F(PastCostTest, WhoStandsOutAgainstItsPastAloneIsNoWitness) {
  AddCause(3, 10, 0.15);
  causes_[0].alone = true;
  EXPECT_EQ(SlowdownOf(0), 0);
}

}  // namespace
}  // namespace lockstep
