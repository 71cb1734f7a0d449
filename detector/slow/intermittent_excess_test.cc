// Ranks that are slow in some steps, told from noise; and the tail of the binomial distribution against a slow sum.

#include "detector/slow/intermittent_excess.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kWork = 1.0, kNoise = 0.005, kExtra = 0.3;
constexpr size_t kSteps = 40;

// One class of ranks whose own work is known, with normal noise.
class IntermittentExcessTest : public ::testing::Test {
 protected:
  void Build(size_t ranks) {
    profile_.ranks = ranks;
    profile_.steps = kSteps;
    steps_.steps = static_cast<int32_t>(kSteps);
    steps_.ranks = ranks;
    steps_.usual.assign(kSteps, 1);
    steps_.usual_seconds = 1.2 * kWork;
    roles_.classes.emplace_back(ranks);
    std::iota(roles_.classes[0].begin(), roles_.classes[0].end(), 0);
    roles_.class_of_rank.assign(ranks, 0);
    for (size_t at = 0; at < ranks * kSteps; ++at) {
      const double excess = kNoise * random_.Gaussian();
      profile_.excess.push_back(static_cast<float>(excess));
      profile_.shared.push_back(static_cast<float>(kWork + excess));
    }
    profile_.own = profile_.shared;
  }

  void Slow(size_t rank, size_t step, double seconds = kExtra) {
    const size_t at = rank * kSteps + step;
    profile_.excess[at] += static_cast<float>(seconds);
    profile_.shared[at] += static_cast<float>(seconds);
    profile_.own[at] += static_cast<float>(seconds);
  }

  std::vector<Suspect> Find() const {
    std::vector<Suspect> suspects;
    AddIntermittentExcess(profile_, roles_, steps_, {}, &suspects);
    return suspects;
  }

  Random random_{7};
  OwnProfile profile_;
  JobRoles roles_;
  StepTable steps_;
};

TEST_F(IntermittentExcessTest, ARankThatIsSlowInEveryThirdStepIsASuspectSinceTheFirstOfThem) {
  Build(16);
  for (size_t step = 9; step < kSteps; step += 3) Slow(5, step);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].rank, 5);
  EXPECT_TRUE(suspects[0].in_some_steps());
  EXPECT_EQ(suspects[0].first_step, 9);
  EXPECT_EQ(suspects[0].last_step, static_cast<int32_t>(kSteps) - 1);
  EXPECT_NEAR(suspects[0].share_of_steps, 1.0 / 3, 0.02);
  EXPECT_NEAR(suspects[0].excess_seconds, kExtra, 0.02);
  EXPECT_NEAR(suspects[0].before_seconds, kWork, 0.02) << "what it needs in its other steps";
}

TEST_F(IntermittentExcessTest, StallsThatGoRoundAreNobodys) {
  Build(16);
  for (size_t step = 0; step < kSteps; ++step) Slow(random_.Below(16), step);
  EXPECT_TRUE(Find().empty());
}

TEST_F(IntermittentExcessTest, NoiseAloneMakesNoLevels) {
  for (int job = 0; job < 50; ++job) {
    profile_ = {};
    roles_ = {};
    Build(16);
    EXPECT_TRUE(Find().empty()) << job;
  }
}

TEST_F(IntermittentExcessTest, WhatCostsLittleOverAllStepsIsNoSuspect) {
  Build(16);
  for (size_t step = 3; step < kSteps; step += 7) Slow(5, step, 0.06);
  EXPECT_TRUE(Find().empty());
}

TEST_F(IntermittentExcessTest, AmongThreeNobodyKnowsWhichIsSlow) {
  Build(3);
  for (size_t step = 0; step < kSteps; step += 2) Slow(1, step);
  EXPECT_TRUE(Find().empty());
}

// A stretch of a few slow steps that is known already is part of it.
TEST_F(IntermittentExcessTest, OneSuspectOfARankIsEnough) {
  Build(16);
  for (size_t step = 4; step < kSteps; step += 8) {
    for (size_t i = step; i < step + 4; ++i) Slow(5, i);
  }
  std::vector<Suspect> suspects = {
      {.rank = 5, .first_step = 4, .last_step = 7, .steps = 4, .excess_seconds = kExtra, .share_of_steps = 1}};
  AddIntermittentExcess(profile_, roles_, steps_, {}, &suspects);
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_TRUE(suspects[0].in_some_steps());
  EXPECT_NEAR(suspects[0].share_of_steps, 0.5, 0.1);
}

double SlowTail(size_t hits, size_t trials, double probability) {
  double sum = 0;
  for (size_t k = hits; k <= trials; ++k) {
    double term = 1;
    for (size_t i = 0; i < k; ++i) term *= static_cast<double>(trials - i) / static_cast<double>(k - i) * probability;
    sum += term * std::pow(1 - probability, static_cast<double>(trials - k));
  }
  return sum;
}

TEST(LogBinomialTailTest, AgreesWithTheSum) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const size_t trials = 1 + random.Below(60), hits = random.Below(trials + 1);
    const double probability = 0.001 + 0.9 * random.Unit();
    EXPECT_NEAR(LogBinomialTail(hits, trials, probability), std::log(SlowTail(hits, trials, probability)), 1e-6)
        << hits << " of " << trials << " at " << probability;
  }
  EXPECT_EQ(LogBinomialTail(0, 9, 0.1), 0);
}

}  // namespace
}  // namespace lockstep
