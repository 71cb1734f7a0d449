#include "detector/model/place_vote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/place_table.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr size_t kRack = static_cast<size_t>(PlaceKind::kRack);
constexpr size_t kLeaf = static_cast<size_t>(PlaceKind::kLeaf);
constexpr size_t kImage = static_cast<size_t>(PlaceKind::kImage);

// Machines h0, h1, ... in racks of eight, two racks to a leaf, one image for all.
struct Fleet {
  explicit Fleet(int machines) {
    for (int i = 0; i < machines; ++i) {
      hosts.push_back(absl::StrCat("h", i));
      Places& places = table.of_host[hosts.back()];
      places[kRack] = absl::StrCat("r", i / 8);
      places[kLeaf] = absl::StrCat("l", i / 16);
      places[kImage] = "v7";
    }
  }
  std::vector<PlaceVote> Vote(const std::vector<int32_t>& deviating) const {
    return VoteOnPlaces(table, hosts, deviating);
  }

  std::vector<std::string> hosts;
  PlaceTable table;
};

std::vector<int32_t> Range(int32_t begin, int32_t end) {
  std::vector<int32_t> range;
  for (int32_t i = begin; i < end; ++i) range.push_back(i);
  return range;
}

TEST(PlaceVoteTest, AWholeRackIsTheRack) {
  const std::vector<PlaceVote> votes = Fleet(64).Vote(Range(8, 16));
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_THAT(votes[0].places, ElementsAre(Pair(PlaceKind::kRack, "r1")));
  EXPECT_EQ(votes[0].deviating, Range(8, 16));
  EXPECT_EQ(votes[0].members, 8);
  EXPECT_EQ(votes[0].deviating_elsewhere, 0);
  EXPECT_EQ(votes[0].machines_elsewhere, 56);
  EXPECT_LT(votes[0].chance, 1e-7);
}

TEST(PlaceVoteTest, BothRacksOfALeafAreTheLeaf) {
  const std::vector<PlaceVote> votes = Fleet(64).Vote(Range(16, 32));
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_THAT(votes[0].places, ElementsAre(Pair(PlaceKind::kLeaf, "l1")));
}

TEST(PlaceVoteTest, RacksOfTwoLeavesAreTwoCauses) {
  std::vector<int32_t> deviating = Range(0, 8);
  for (const int32_t other : Range(40, 48)) deviating.push_back(other);
  const std::vector<PlaceVote> votes = Fleet(128).Vote(deviating);
  ASSERT_EQ(votes.size(), 2u);
  std::vector<std::string> names = {votes[0].places.at(0).second, votes[1].places.at(0).second};
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"r0", "r5"}));
}

TEST(PlaceVoteTest, PlacesWithTheSameMachinesAreOneResult) {
  Fleet fleet(64);
  for (int i = 0; i < 64; ++i) fleet.table.of_host[fleet.hosts[static_cast<size_t>(i)]][kLeaf] = absl::StrCat(i / 8);
  const std::vector<PlaceVote> votes = fleet.Vote(Range(0, 8));
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_THAT(votes[0].places, ElementsAre(Pair(PlaceKind::kRack, "r0"), Pair(PlaceKind::kLeaf, "0")));
}

TEST(PlaceVoteTest, MachinesHereAndThereShareNothing) {
  EXPECT_TRUE(Fleet(64).Vote({0, 9, 18, 27, 36, 45, 54, 63}).empty());
}

TEST(PlaceVoteTest, FewMachinesOfARackAreNotTheRack) {
  EXPECT_TRUE(Fleet(256).Vote({8, 9, 10}).empty());
  EXPECT_TRUE(Fleet(64).Vote({8}).empty());
}

TEST(PlaceVoteTest, WhatAllShareExplainsNothing) { EXPECT_TRUE(Fleet(16).Vote(Range(0, 16)).empty()); }

TEST(PlaceVoteTest, OthersElsewhereAreLeftOver) {
  std::vector<int32_t> deviating = Range(8, 16);
  deviating.push_back(50);
  const std::vector<PlaceVote> votes = Fleet(64).Vote(deviating);
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_EQ(votes[0].deviating_elsewhere, 1);
}

TEST(PlaceVoteTest, UnplacedMachinesCountAsElsewhere) {
  Fleet fleet(64);
  for (int i = 16; i < 64; ++i) fleet.table.of_host.erase(fleet.hosts[static_cast<size_t>(i)]);
  const std::vector<PlaceVote> votes = fleet.Vote(Range(0, 8));
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_EQ(votes[0].machines_elsewhere, 56);
}

// The stated chance is the share of random draws with such a gathering anywhere, or more than that.
TEST(PlaceVoteTest, MachinesPickedByChanceAreExplainedAsSeldomAsStated) {
  const Fleet fleet(64);
  constexpr int kDraws = 20'000;
  Random random(17);
  int explained = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<int32_t> all = Range(0, 64);
    std::vector<int32_t> deviating;
    for (int i = 0; i < 6; ++i) {
      const auto at = static_cast<size_t>(random.Below(all.size()));
      deviating.push_back(all[at]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::sort(deviating.begin(), deviating.end());
    explained += fleet.Vote(deviating).empty() ? 0 : 1;
  }
  EXPECT_LE(explained, kDraws * kMostChance);
}

// Exact: all draws of 3 of 12 counted one by one.
TEST(PlaceVoteTest, ChanceAgreesWithCounting) {
  Fleet fleet(12);
  for (auto& [host, places] : fleet.table.of_host) {
    places = {};
    if (host == "h0" || host == "h1" || host == "h2") places[kRack] = "r";
  }
  int gathered = 0;
  int draws = 0;
  for (int a = 0; a < 12; ++a) {
    for (int b = a + 1; b < 12; ++b) {
      for (int c = b + 1; c < 12; ++c) {
        ++draws;
        gathered += c < 3 ? 1 : 0;
      }
    }
  }
  const std::vector<PlaceVote> votes = fleet.Vote({0, 1, 2});
  EXPECT_TRUE(votes.empty()) << "1 of 220 is not improbable enough";
  // The same in a fleet four times as large is.
  Fleet large(64);
  for (auto& [host, places] : large.table.of_host) {
    places = {};
    if (host == "h0" || host == "h1" || host == "h2") places[kRack] = "r";
  }
  const std::vector<PlaceVote> rare = large.Vote({0, 1, 2});
  ASSERT_EQ(rare.size(), 1u);
  EXPECT_NEAR(rare[0].chance, 6.0 / (64.0 * 63.0 * 62.0), 1e-12);
  EXPECT_EQ(draws / gathered, 220);
}

}  // namespace
}  // namespace lockstep
