#include "detector/slow/slow_within_host.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 8, kSteps = 12, kOnset = 4;
constexpr float kWork = 1, kStall = 0.5, kJitter = 0.001F;
constexpr int32_t kSlow = 5;  // of the ranks 4 to 7, those of the second host

// Two hosts of four ranks each, all peers, each with one second of own work per step; the second waits for its input.
class SlowWithinHostTest : public ::testing::Test {
 protected:
  SlowWithinHostTest() {
    steps_.steps = kSteps;
    steps_.usual.assign(kSteps, 1);
    steps_.usual_seconds = 2;
    profile_.ranks = kRanks;
    profile_.steps = kSteps;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      for (int32_t step = 0; step < kSteps; ++step) {
        const float jitter = kJitter * static_cast<float>((rank * 7 + step * step * 5) % 5 - 2);
        profile_.shared.push_back(kWork + jitter + (rank >= 4 && step >= kOnset ? kStall : 0));
      }
    }
    causes_ = {{.kind = SlowKind::kInput, .whole_host = true}};
    for (int32_t rank = 4; rank < kRanks; ++rank) causes_[0].suspects.push_back(SuspectOf(rank, kStall));
  }

  static Suspect SuspectOf(int32_t rank, double excess) {
    return {.rank = rank,
            .first_step = kOnset,
            .last_step = kSteps - 1,
            .steps = kSteps - kOnset,
            .excess_seconds = excess,
            .own_seconds = kWork + excess};
  }

  void Slow(int32_t first_step, float more) {
    for (int32_t step = first_step; step < kSteps; ++step) profile_.shared[kSlow * kSteps + step] += more;
    for (Suspect& suspect : causes_[0].suspects) {
      if (suspect.rank == kSlow) suspect = SuspectOf(kSlow, kStall + more);
    }
    std::swap(causes_[0].suspects[0], causes_[0].suspects[kSlow - 4]);  // the strongest first
  }

  void Look() { AddSlowWithinHosts(profile_, steps_, {}, &causes_); }

  StepTable steps_;
  OwnProfile profile_;
  std::vector<SlowCause> causes_;
};

TEST_F(SlowWithinHostTest, RanksThatOnlyShareTheWaitAreNoCauses) {
  Look();
  EXPECT_EQ(causes_.size(), 1u);
}

TEST_F(SlowWithinHostTest, WhoIsSlowerThanTheOthersOfItsHostIsACauseSinceItsOwnOnset) {
  Slow(2, 0.3F);
  Look();
  ASSERT_EQ(causes_.size(), 2u);
  const SlowCause& rank = causes_[1];
  EXPECT_EQ(rank.kind, SlowKind::kCompute);
  EXPECT_TRUE(rank.beyond_host);
  ASSERT_EQ(rank.suspects.size(), 1u);
  EXPECT_EQ(rank.suspects[0].rank, kSlow);
  EXPECT_EQ(rank.suspects[0].first_step, 2);
  EXPECT_NEAR(rank.suspects[0].excess_seconds, 0.3, 0.01);
  EXPECT_NEAR(rank.suspects[0].own_seconds, kWork + 0.3, 0.01) << "without the wait of the host";
  EXPECT_NEAR(rank.peer_seconds, kWork, 0.01);
  for (const Suspect& suspect : causes_[0].suspects) EXPECT_NEAR(suspect.excess_seconds, kStall, 0.01);
}

TEST_F(SlowWithinHostTest, OfALateHostNobodyKnowsWhoseGpuCouldBeFaster) {
  Slow(2, 0.3F);
  causes_[0].kind = SlowKind::kHost;
  Look();
  EXPECT_EQ(causes_.size(), 1u);
}

}  // namespace
}  // namespace lockstep
