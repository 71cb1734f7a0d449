#include "detector/slow/program_duty.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "detector/model/trace.h"
#include "detector/steps/step_profile.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/slow_reasons.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 16, kRanksOfHost = 4, kSteps = 30;
using Place = DutyOfPlace::Place;

// Four replicas of four ranks, each on a host of its own: the lane is the place within.
class ProgramDutyTest : public ::testing::Test {
 protected:
  ProgramDutyTest() {
    analysis_.trace = &trace_;
    analysis_.steps.steps = kSteps;
    analysis_.steps.ranks = kRanks;
    analysis_.steps.usual.assign(kSteps, 1);
    analysis_.profile.steps = kSteps;
    analysis_.profile.ranks = kRanks;
    analysis_.profile.own.assign(kRanks * kSteps, 1);
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = rank, .host = rank / kRanksOfHost});
      places_.push_back({.replica = rank / kRanksOfHost, .lane = rank % kRanksOfHost});
    }
  }

  static SlowCause Stalled(int32_t rank, int32_t since = 0, double share = 1) {
    return {.kind = SlowKind::kInput,
            .suspects = {{.rank = rank, .first_step = since, .last_step = kSteps - 1, .share_of_steps = share}}};
  }

  std::optional<DutyOfPlace> Find(const std::vector<SlowCause>& causes) const {
    return FindProgramDuty(analysis_, places_, causes, 0);
  }

  Trace trace_;
  TraceAnalysis analysis_;
  std::vector<PlaceInJob> places_;
};

TEST_F(ProgramDutyTest, FirstAndLastRankHaveDutiesAndOthersHaveNone) {
  ASSERT_TRUE(Find({Stalled(0)}).has_value());
  EXPECT_EQ(Find({Stalled(0)})->place, Place::kFirst);
  ASSERT_TRUE(Find({Stalled(kRanks - 1)}).has_value());
  EXPECT_EQ(Find({Stalled(kRanks - 1)})->place, Place::kLast);
  EXPECT_FALSE(Find({Stalled(5)}).has_value());
}

TEST_F(ProgramDutyTest, NumbersCountAndNotTheOrderOfTheRecords) {
  for (TraceRank& rank : trace_.ranks) rank.rank = (rank.rank + 5) % kRanks;
  EXPECT_TRUE(Find({Stalled(kRanks - 5)}).has_value()) << "rank 0";
  EXPECT_FALSE(Find({Stalled(0)}).has_value()) << "rank 5";
}

TEST_F(ProgramDutyTest, WhatBeganInTheMiddleIsNoDuty) {
  EXPECT_FALSE(Find({Stalled(0, 8)}).has_value());
  EXPECT_TRUE(Find({Stalled(0, 8, 0.25)}).has_value()) << "every fourth step may begin so late by chance";
  EXPECT_FALSE(Find({Stalled(0, 20, 0.25)}).has_value());
}

TEST_F(ProgramDutyTest, StepsOfWhichNothingIsKnownShowNoBeginning) {
  for (size_t step = 0; step < 8; ++step) analysis_.profile.own[step] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(Find({Stalled(0, 8)}).has_value());
}

TEST_F(ProgramDutyTest, AGpuThatComputesSlowlyAndAWholeHostAreNoDuties) {
  SlowCause cause = Stalled(0);
  cause.kind = SlowKind::kCompute;
  EXPECT_FALSE(Find({cause}).has_value());
  cause = Stalled(0);
  cause.whole_host = true;
  EXPECT_FALSE(Find({cause}).has_value());
}

TEST_F(ProgramDutyTest, WhatMostReplicasHaveAtOnePlaceIsADuty) {
  const std::optional<DutyOfPlace> duty = Find({Stalled(5), Stalled(9), Stalled(13)});
  ASSERT_TRUE(duty.has_value());
  EXPECT_EQ(*duty, (DutyOfPlace{.place = Place::kOfReplica, .ranks = 3, .of_ranks = 4, .hosts = 3}));
  EXPECT_FALSE(Find({Stalled(5), Stalled(9)}).has_value()) << "half of them";
  EXPECT_FALSE(Find({Stalled(5), Stalled(10), Stalled(14)}).has_value()) << "places differ";
  EXPECT_FALSE(Find({Stalled(5), Stalled(9, 12), Stalled(13)}).has_value()) << "one of them is a fault";
}

TEST_F(ProgramDutyTest, OnOneHostTheHostMayBeTheCause) {
  for (TraceRank& rank : trace_.ranks) rank.host = 0;
  EXPECT_FALSE(Find({Stalled(5), Stalled(9), Stalled(13)}).has_value());
}

}  // namespace
}  // namespace lockstep
