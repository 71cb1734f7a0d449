#include "detector/slow/persistent_excess.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/step_finder.h"
#include "detector/testing/peer_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 32, kSteps = 20;
constexpr float kJitter = 0.002F;
constexpr int32_t kRank = 9;

class PersistentExcessLevelTest : public ::testing::Test {
 protected:
  void Slow(size_t first_step, size_t last_step, float excess) {
    peers_.Slow(kRank, first_step, last_step + 1, excess);
  }

  void Lose(size_t step) {
    profile_.excess[kRank * kSteps + step] = profile_.shared[kRank * kSteps + step] = std::nanf("");
  }

  // Records of the rank are lost in a step, so that little of its excess is seen.
  void LosePart(size_t step, float seen) {
    profile_.guess_scale.resize(kRanks * kSteps, 1);
    const size_t at = kRank * kSteps + step;
    profile_.guess_scale[at] = 1.1F;
    profile_.shared[at] += seen - profile_.excess[at];
    profile_.excess[at] = seen;
  }

  std::vector<Suspect> FindBeside(int32_t first_step) const {
    std::vector<Suspect> suspects = Find();
    AddSlowBesideTransfers(profile_, roles_, steps_, {}, {{.first_step = first_step, .ranks = {kRank}}}, &suspects);
    return suspects;
  }

  std::vector<Suspect> Find() const { return FindPersistentExcess(profile_, roles_, steps_, {}); }

  PeerProfile peers_{kRanks, kSteps, /*step_seconds=*/1, [](size_t rank, size_t step) {
                       return kJitter * static_cast<float>((rank * 7 + step * step * 5) % 5) - 2 * kJitter;
                     }};
  const JobRoles& roles_ = peers_.roles;
  OwnProfile& profile_ = peers_.profile;
  StepTable& steps_ = peers_.steps;
};

TEST_F(PersistentExcessLevelTest, NobodyStandsOutOfNoise) { EXPECT_TRUE(Find().empty()); }

// Batches become uneven: of many ranks some have the long ones four times in a row.
TEST_F(PersistentExcessLevelTest, WhereBatchesBeginToVaryAQuietPastIsNoMeasureOfNoise) {
  constexpr size_t kOnset = 16;
  for (size_t rank = 0; rank < kRanks; ++rank) {
    for (size_t step = kOnset; step < kSteps; ++step) {
      const bool is_long = rank == kRank || (rank + step) % 2 == 0;
      if (is_long) peers_.Slow(rank, step, step + 1, 0.05F);
    }
  }
  EXPECT_TRUE(Find().empty());
  Slow(kOnset, kSteps - 1, 0.5F);
  EXPECT_EQ(Find().size(), 1) << "and a fault among them is seen all the same";
}

TEST_F(PersistentExcessLevelTest, AFaultOfFourStepsIsDatedBehindManyStepsOfALittleSlowness) {
  Slow(0, 15, 0.02F);
  Slow(16, 19, 0.2F);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].rank, kRank);
  EXPECT_EQ(suspects[0].first_step, 16);
  EXPECT_EQ(suspects[0].last_step, 19);
  EXPECT_NEAR(suspects[0].excess_seconds, 0.2, 0.01);
  EXPECT_NEAR(suspects[0].before_seconds, 1.02, 0.01);
}

TEST_F(PersistentExcessLevelTest, AFaultThatIsOverIsDatedBeforeManyStepsOfALittleSlowness) {
  Slow(0, 3, 0.2F);
  Slow(4, 19, 0.02F);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 0);
  EXPECT_EQ(suspects[0].last_step, 3);
}

TEST_F(PersistentExcessLevelTest, ALittleMoreOfTheSameIsOneStretch) {
  Slow(0, 11, 0.1F);
  Slow(12, 19, 0.14F);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 0);
  EXPECT_EQ(suspects[0].last_step, 19);
}

TEST_F(PersistentExcessLevelTest, OneLateStepIsNoLevel) {
  Slow(0, 19, 0.1F);
  Slow(11, 11, 3);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 0);
  EXPECT_EQ(suspects[0].last_step, 19);
  EXPECT_NEAR(suspects[0].excess_seconds, 0.1, 0.01);
}

TEST_F(PersistentExcessLevelTest, StepsThatAreLostBesideAFaultMayBelongToIt) {
  Slow(8, 17, 0.2F);
  for (const size_t step : {6, 7, 18, 19}) Lose(step);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_EQ(suspects[0].last_step, 17);
  EXPECT_EQ(suspects[0].earliest_step(), 6);
  EXPECT_EQ(suspects[0].latest_step(), 19);
}

TEST_F(PersistentExcessLevelTest, AnUnusualStepBeforeAFaultIsNotLost) {
  Slow(8, 19, 0.2F);
  Lose(7);
  steps_.usual[7] = 0;
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].earliest_step(), 8);
}

TEST_F(PersistentExcessLevelTest, AStepWithLostRecordsThatIsNotSlowSaysNothing) {
  Slow(8, 19, 0.2F);
  for (const size_t step : {9, 11, 13, 15, 17}) LosePart(step, 0.02F);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_NEAR(suspects[0].excess_seconds, 0.2, 0.01);
  EXPECT_NEAR(suspects[0].own_seconds, 1.2, 0.01);
  EXPECT_EQ(suspects[0].share_of_steps, 1);
}

TEST_F(PersistentExcessLevelTest, LostRecordsDoNotCutAStretchShort) {
  Slow(8, 19, 0.2F);
  for (const size_t step : {9, 11, 12, 18}) LosePart(step, -0.05F);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_EQ(suspects[0].last_step, 19);
}

TEST_F(PersistentExcessLevelTest, WhereMostStepsLackRecordsTheWholeOnesSayFromWhatLevelOnARankIsSlow) {
  Slow(8, 19, 0.2F);
  for (const size_t step : {9, 10, 12, 13, 14, 16, 17, 18}) LosePart(step, 0.12F);
  Slow(5, 5, 0.08F);  // noise, above half of what those show
  for (const size_t step : {6, 7}) LosePart(step, 0);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_EQ(suspects[0].earliest_step(), 6);
}

TEST_F(PersistentExcessLevelTest, AStepWithoutLossThatIsNotSlowSaysThatTheRankWasNot) {
  Slow(8, 19, 0.2F);
  for (const size_t step : {9, 11, 13, 15, 17}) Slow(step, step, -0.18F);
  EXPECT_TRUE(Find().empty());
}

TEST_F(PersistentExcessLevelTest, ALostOnsetMayBeBeforeTheFirstSlowStep) {
  Slow(8, 19, 0.2F);
  LosePart(7, 0);
  LosePart(6, 0);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_EQ(suspects[0].earliest_step(), 6);
}

TEST_F(PersistentExcessLevelTest, AStepThatWasLongForAllIsNotWhatTheRankNeededBefore) {
  Slow(3, 19, 0.2F);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    profile_.shared[rank * kSteps] += 3;
    profile_.shared[rank * kSteps + 1] += 0.1F;
  }
  profile_.shared[kRank * kSteps + 1] += 0.1F;
  profile_.excess[kRank * kSteps + 1] += 0.1F;
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_NEAR(suspects[0].before_seconds, 1.1, 0.02) << "the middle of the three steps, at the peers' usual time";
}

TEST_F(PersistentExcessLevelTest, ALittleSlownessSinceTheOnsetOfSlowTransfersCounts) {
  Slow(8, 19, 0.012F);
  EXPECT_TRUE(Find().empty()) << "too little by itself";
  const std::vector<Suspect> suspects = FindBeside(8);
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].rank, kRank);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_EQ(suspects[0].peers, static_cast<int32_t>(kRanks) - 1);
}

TEST_F(PersistentExcessLevelTest, ALittleSlownessFromBeforeTheSlowTransfersIsNotOfThem) {
  Slow(0, 19, 0.012F);
  EXPECT_TRUE(FindBeside(8).empty());
}

TEST_F(PersistentExcessLevelTest, SlowTransfersDateARankOfWhichLostRecordsHideTheOnset) {
  Slow(8, 19, 0.2F);
  for (const size_t step : {8, 9, 10}) LosePart(step, -0.01F);
  ASSERT_EQ(Find().size(), 1);
  EXPECT_EQ(Find()[0].first_step, 11);
  const std::vector<Suspect> suspects = FindBeside(8);
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].first_step, 8);
  EXPECT_NEAR(suspects[0].excess_seconds, 0.2, 0.01);
}

TEST_F(PersistentExcessLevelTest, ThreeStepsAccuseNobody) {
  Slow(17, 19, 0.5F);
  EXPECT_TRUE(Find().empty());
}

}  // namespace
}  // namespace lockstep
