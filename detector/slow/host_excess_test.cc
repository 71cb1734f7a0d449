#include "detector/slow/host_excess.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kHosts = 6, kOfHost = 8, kRanks = kHosts * kOfHost, kSteps = 40, kOnset = 15;
constexpr int32_t kSlow = 2;
constexpr float kWork = 1, kNoise = 0.1F;

// Peers with a second of own work in each step, give or take a tenth.
class HostExcessTest : public ::testing::Test {
 protected:
  HostExcessTest() {
    trace_.hosts.resize(kHosts);
    steps_.steps = kSteps;
    steps_.usual.assign(kSteps, 1);
    steps_.usual_seconds = 2;
    roles_.classes.emplace_back();
    roles_.class_of_rank.assign(kRanks, 0);
    profile_.ranks = kRanks;
    profile_.steps = kSteps;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = static_cast<int32_t>(rank / kOfHost)});
      roles_.classes[0].push_back(static_cast<int32_t>(rank));
      for (size_t step = 0; step < kSteps; ++step) {
        profile_.excess.push_back(kNoise * static_cast<float>(random_.Gaussian()));
        profile_.shared.push_back(kWork + profile_.excess.back());
      }
    }
  }

  void Slow(size_t rank, float excess) {
    for (size_t step = kOnset; step < kSteps; ++step) {
      profile_.excess[rank * kSteps + step] += excess;
      profile_.shared[rank * kSteps + step] += excess;
    }
  }

  std::vector<Suspect> Find(std::vector<Suspect> known = {}) const {
    AddHostExcess(trace_, roles_, profile_, steps_, {}, &known);
    return known;
  }

  Random random_{4};
  Trace trace_;
  StepTable steps_;
  JobRoles roles_;
  OwnProfile profile_;
};

TEST_F(HostExcessTest, WhatRanksOfAHostShareIsSeenThroughTheNoiseOfEach) {
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_TRUE(FindPersistentExcess(profile_, roles_, steps_, {}).empty()) << "none by itself";
  const std::vector<Suspect> suspects = Find();
  ASSERT_GE(suspects.size(), kOfHost - 1);
  for (const Suspect& suspect : suspects) {
    EXPECT_EQ(trace_.ranks[static_cast<size_t>(suspect.rank)].host, kSlow);
    EXPECT_NEAR(suspect.first_step, static_cast<double>(kOnset), 2);
    EXPECT_NEAR(suspect.excess_seconds, kNoise, 0.06);
    EXPECT_NEAR(suspect.before_seconds, kWork, 0.1);
  }
}

TEST_F(HostExcessTest, NoiseIsNoHost) {
  EXPECT_TRUE(Find().empty());
  Slow(kSlow * kOfHost, 5 * kNoise);
  EXPECT_TRUE(Find().empty()) << "what one rank has is the rank's";
}

TEST_F(HostExcessTest, WhatSomeRanksHaveIsNotTheHosts) {
  for (size_t i = 0; i < 5; ++i) Slow(kSlow * kOfHost + i, 2 * kNoise);
  std::vector<Suspect> by_rank = FindPersistentExcess(profile_, roles_, steps_, {});
  const size_t count = by_rank.size();
  EXPECT_EQ(Find(std::move(by_rank)).size(), count);
  EXPECT_TRUE(Find().empty());
}

TEST_F(HostExcessTest, AHostWithASuspectIsLeftToIt) {
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_EQ(Find({{.rank = kSlow * static_cast<int32_t>(kOfHost)}}).size(), 1u);
}

TEST_F(HostExcessTest, RanksWithoutPeersElsewhereDoNotCount) {
  roles_.classes.clear();
  for (size_t rank = 0; rank < kRanks; ++rank) {
    roles_.class_of_rank[rank] = static_cast<int32_t>(rank / kOfHost);
    if (rank % kOfHost == 0) roles_.classes.emplace_back();
    roles_.classes.back().push_back(static_cast<int32_t>(rank));
  }
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_TRUE(Find().empty());
}

}  // namespace
}  // namespace lockstep
