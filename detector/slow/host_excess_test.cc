#include "detector/slow/host_excess.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/testing/peer_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kHosts = 6, kOfHost = 8, kRanks = kHosts * kOfHost, kSteps = 40, kOnset = 15;
constexpr int32_t kSlow = 2;
constexpr float kNoise = 0.1F;

// Give or take a tenth of their work.
class HostExcessTest : public ::testing::Test {
 protected:
  HostExcessTest() {
    trace_.hosts.resize(kHosts);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = static_cast<int32_t>(rank / kOfHost)});
    }
  }

  void Slow(size_t rank, float excess) { peers_.Slow(rank, kOnset, kSteps, excess); }

  std::vector<Suspect> Find(std::vector<Suspect> known = {}) const {
    AddHostExcess(trace_, peers_.roles, peers_.profile, peers_.steps, {}, &known);
    return known;
  }

  std::vector<Suspect> FindByRank() const {
    return FindPersistentExcess(peers_.profile, peers_.roles, peers_.steps, {});
  }

  Random random_{4};
  Trace trace_;
  PeerProfile peers_{kRanks, kSteps, /*step_seconds=*/2,
                     [this](size_t, size_t) { return kNoise * static_cast<float>(random_.Gaussian()); }};
};

TEST_F(HostExcessTest, WhatRanksOfAHostShareIsSeenThroughTheNoiseOfEach) {
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_TRUE(FindByRank().empty()) << "none by itself";
  const std::vector<Suspect> suspects = Find();
  ASSERT_GE(suspects.size(), kOfHost - 1);
  for (const Suspect& suspect : suspects) {
    EXPECT_EQ(trace_.ranks[static_cast<size_t>(suspect.rank)].host, kSlow);
    EXPECT_NEAR(suspect.first_step, static_cast<double>(kOnset), 2);
    EXPECT_NEAR(suspect.excess_seconds, kNoise, 0.06);
    EXPECT_NEAR(suspect.before_seconds, 1, 0.1);
  }
}

TEST_F(HostExcessTest, NoiseIsNoHost) {
  EXPECT_TRUE(Find().empty());
  Slow(kSlow * kOfHost, 5 * kNoise);
  EXPECT_TRUE(Find().empty()) << "what one rank has is the rank's";
}

TEST_F(HostExcessTest, WhatSomeRanksHaveIsNotTheHosts) {
  for (size_t i = 0; i < 5; ++i) Slow(kSlow * kOfHost + i, 2 * kNoise);
  std::vector<Suspect> by_rank = FindByRank();
  const size_t count = by_rank.size();
  EXPECT_EQ(Find(std::move(by_rank)).size(), count);
  EXPECT_TRUE(Find().empty());
}

TEST_F(HostExcessTest, AHostWithASuspectIsLeftToIt) {
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_EQ(Find({{.rank = kSlow * static_cast<int32_t>(kOfHost)}}).size(), 1u);
}

TEST_F(HostExcessTest, WhatARankShowsAtTimesIsThePartOfAHostThatLosesMore) {
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  Suspect at_times{.rank = kSlow * static_cast<int32_t>(kOfHost),
                   .excess_seconds = 5 * kNoise,
                   .share_of_steps = 0.1,
                   .slow_above_seconds = 2 * kNoise};
  const std::vector<Suspect> suspects = Find({at_times});
  EXPECT_GE(suspects.size(), kOfHost - 1);
  for (const Suspect& suspect : suspects) EXPECT_FALSE(suspect.in_some_steps());
  at_times.share_of_steps = 0.5;
  EXPECT_EQ(Find({at_times}).size(), 1u) << "it loses more than the host does";
}

TEST_F(HostExcessTest, RanksWithoutPeersElsewhereDoNotCount) {
  peers_.roles.classes.clear();
  for (size_t rank = 0; rank < kRanks; ++rank) {
    peers_.roles.class_of_rank[rank] = static_cast<int32_t>(rank / kOfHost);
    if (rank % kOfHost == 0) peers_.roles.classes.emplace_back();
    peers_.roles.classes.back().push_back(static_cast<int32_t>(rank));
  }
  for (size_t i = 0; i < kOfHost; ++i) Slow(kSlow * kOfHost + i, kNoise);
  EXPECT_TRUE(Find().empty());
}

}  // namespace
}  // namespace lockstep
