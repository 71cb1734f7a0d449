#include "detector/model/member_places.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Places = std::vector<int32_t>;

TEST(MemberPlacesTest, NeighboursOfAPipelineTellWhoIsMissing) {
  // Four stages in a row, the first of which left no record.
  EXPECT_EQ(
      PlacesByPeers({{.rank = 88, .peers = {0, 2}}, {.rank = 152, .peers = {1, 3}}, {.rank = 216, .peers = {2}}}, 4),
      (Places{1, 2, 3}));
  // The third.
  EXPECT_EQ(PlacesByPeers({{.rank = 8, .peers = {1}}, {.rank = 72, .peers = {0, 2}}, {.rank = 200, .peers = {2}}}, 4),
            (Places{0, 1, 3}));
}

TEST(MemberPlacesTest, WhatLeavesRoomForTwoAnswersHasNone) {
  EXPECT_TRUE(PlacesByPeers({{.rank = 1, .peers = {1}}}, 3).empty()) << "before it or behind it";
  EXPECT_TRUE(PlacesByPeers({{.rank = 1, .peers = {}}, {.rank = 2, .peers = {}}}, 3).empty()) << "collectives alone";
}

TEST(MemberPlacesTest, ContradictionsHaveNoAnswer) {
  EXPECT_TRUE(PlacesByPeers({{.rank = 1, .peers = {0, 1, 2}}, {.rank = 2, .peers = {0, 1, 2}}}, 3).empty());
}

TEST(MemberPlacesTest, AllMembersNeedNoPeers) {
  EXPECT_TRUE(PlacesByPeers({{.rank = 1, .peers = {1}}, {.rank = 2, .peers = {0}}}, 2).empty());
}

TEST(MemberPlacesTest, LargeGroupsEndTheSearch) {
  std::vector<UnplacedMember> members(200, {.rank = 0, .peers = {}});
  members.back().peers = {0};
  EXPECT_TRUE(PlacesByPeers(members, 400).empty());
}

}  // namespace
}  // namespace lockstep
