#include "detector/model/one_way_rings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// One communicator whose members send like this.
bool IsRing(size_t members, const std::vector<std::pair<int32_t, int32_t>>& sends) {
  Trace trace;
  trace.communicators.push_back({.members = std::vector<int32_t>(members, -1)});
  OperationInstances matched;
  matched.channels.push_back({.communicator = 0});
  for (const auto& [source, destination] : sends) {
    matched.channels.push_back({.communicator = 0, .source = source, .destination = destination});
  }
  return FindOneWayRings(trace, matched)[0] != 0;
}

TEST(OneWayRingsTest, EachSendsToOneAndAllAreInTheCircle) {
  EXPECT_TRUE(IsRing(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_TRUE(IsRing(4, {{0, 2}, {2, 1}, {1, 3}, {3, 0}})) << "whatever the places";
  EXPECT_FALSE(IsRing(4, {{0, 1}, {1, 0}, {2, 3}, {3, 2}})) << "two circles";
  EXPECT_FALSE(IsRing(4, {{0, 1}, {1, 2}, {2, 0}, {3, 0}})) << "one is outside";
}

TEST(OneWayRingsTest, StagesSendBothWays) {
  EXPECT_FALSE(IsRing(3, {{0, 1}, {1, 2}, {2, 1}, {1, 0}}));
  EXPECT_FALSE(IsRing(3, {{0, 1}, {1, 2}, {2, 0}, {0, 2}, {2, 1}, {1, 0}})) << "interleaved";
  EXPECT_FALSE(IsRing(3, {{0, 1}, {1, 2}})) << "open";
}

TEST(OneWayRingsTest, EachDirectionMayHaveACommunicatorOfItsOwn) {
  Trace trace;
  OperationInstances matched;
  const auto add = [&](std::vector<int32_t> members, int32_t next) {
    const auto c = static_cast<int32_t>(trace.communicators.size());
    const auto size = static_cast<int32_t>(members.size());
    trace.communicators.push_back({.members = std::move(members)});
    for (int32_t m = 0; m < size; ++m) {
      matched.channels.push_back({.communicator = c, .source = m, .destination = (m + next) % size});
    }
  };
  add({0, 4, 8, 12}, 1);
  EXPECT_EQ(FindOneWayRings(trace, matched), std::vector<char>({1}));
  add({12, 8, 4, 0}, 3);
  EXPECT_EQ(FindOneWayRings(trace, matched), std::vector<char>({1, 1})) << "the same way, in another order";
  add({0, 4, 8, 12}, 3);
  EXPECT_EQ(FindOneWayRings(trace, matched), std::vector<char>({0, 0, 0}));
}

TEST(OneWayRingsTest, OfTwoNobodyCanTell) {
  EXPECT_FALSE(IsRing(2, {{0, 1}, {1, 0}}));
  EXPECT_FALSE(IsRing(3, {})) << "collectives only";
}

}  // namespace
}  // namespace lockstep
