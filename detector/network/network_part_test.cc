#include "detector/network/network_part.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One rank on each host: ranks are hosts.
std::vector<int32_t> OneRankEach(int32_t hosts) {
  std::vector<int32_t> host_of;
  for (int32_t host = 0; host < hosts; ++host) host_of.push_back(host);
  return host_of;
}

NetworkPart Find(const std::vector<VotePath>& paths, int32_t hosts) {
  std::vector<int32_t> slow, fine;
  for (size_t p = 0; p < paths.size(); ++p) (paths[p].slow ? slow : fine).push_back(static_cast<int32_t>(p));
  return FindNetworkPart(paths, OneRankEach(hosts), slow, fine);
}

VotePath Path(std::vector<int32_t> ranks, bool slow) { return {.ranks = std::move(ranks), .slow = slow}; }

// Four stages of two replicas; both of stage 1 are behind one switch. Stage 0 is an island as well, and yet no cause.
TEST(NetworkPartTest, OfTwoIslandsTheOneAtWhichAllSlowPathsEnd) {
  std::vector<VotePath> paths;
  for (int32_t stage = 0; stage < 4; ++stage) paths.push_back(Path({2 * stage, 2 * stage + 1}, false));
  for (int32_t replica = 0; replica < 2; ++replica) {
    paths.push_back(Path({replica, 2 + replica}, true));
    paths.push_back(Path({2 + replica, 4 + replica}, true));
    paths.push_back(Path({4 + replica, 6 + replica}, false));
  }
  const NetworkPart part = Find(paths, 8);
  EXPECT_THAT(part.hosts, ElementsAre(2, 3));
  EXPECT_THAT(part.slow_paths, ElementsAre(4, 5, 7, 8));
}

TEST(NetworkPartTest, IslandsThatExplainTheSameAreBothMeant) {
  const std::vector<VotePath> paths = {Path({0, 1}, false), Path({1, 2}, false), Path({2, 3}, false),
                                       Path({4, 5}, true)};
  EXPECT_THAT(Find(paths, 6).hosts, ElementsAre(4, 5));
}

TEST(NetworkPartTest, HalvesOfOneSizeAreBothMeant) {
  const std::vector<VotePath> paths = {Path({0, 1}, false), Path({2, 3}, false), Path({0, 2}, true)};
  EXPECT_THAT(Find(paths, 4).hosts, ElementsAre(0, 1, 2, 3));
}

TEST(NetworkPartTest, OneHostIsNoPartAndFinePathsLeaveNone) {
  const std::vector<VotePath> alone = {Path({0, 1, 2}, false), Path({2, 3}, true)};
  EXPECT_THAT(Find(alone, 4).hosts, IsEmpty());
  const std::vector<VotePath> connected = {Path({0, 1, 2, 3}, false), Path({2, 3}, true)};
  EXPECT_THAT(Find(connected, 4).hosts, IsEmpty());
}

// Whatever is chosen, each slow path between islands ends in it.
TEST(NetworkPartTest, ThePartExplainsAllSlowPathsBetweenIslands) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int32_t hosts = 6 + static_cast<int32_t>(random.Below(8));
    std::vector<VotePath> paths;
    // Most hosts are connected, so that there is a largest island.
    for (int32_t host = 1; host <= hosts / 2; ++host) paths.push_back(Path({host - 1, host}, false));
    for (int32_t i = 0; i < 10; ++i) {
      const auto a = static_cast<int32_t>(random.Below(static_cast<uint64_t>(hosts)));
      const auto b = static_cast<int32_t>(random.Below(static_cast<uint64_t>(hosts)));
      if (a != b) paths.push_back(Path({a, b}, random.Below(3) != 0));
    }
    const NetworkPart part = Find(paths, hosts);
    if (part.hosts.empty()) continue;
    const std::set<int32_t> chosen(part.hosts.begin(), part.hosts.end());
    for (const int32_t p : part.slow_paths) {
      const std::vector<int32_t>& ranks = paths[static_cast<size_t>(p)].ranks;
      EXPECT_TRUE(std::any_of(ranks.begin(), ranks.end(), [&](int32_t r) { return chosen.contains(r); })) << seed;
    }
  }
}

}  // namespace
}  // namespace lockstep
