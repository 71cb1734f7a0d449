#include "detector/network/path_vote.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Data groups and pipeline transfers of a job with `gpus` GPUs per host; rank = gpu + gpus * (replica + replicas *
// stage) and one replica of one stage per host.
struct Net {
  int32_t gpus = 4, replicas = 4, stages = 3;
  std::vector<VotePath> paths;
  std::vector<int32_t> host_of;

  int32_t Rank(int32_t gpu, int32_t replica, int32_t stage) const { return gpu + gpus * (replica + replicas * stage); }

  void Build() {
    for (int32_t r = 0; r < gpus * replicas * stages; ++r) host_of.push_back(r / gpus);
    for (int32_t stage = 0; stage < stages; ++stage) {
      for (int32_t gpu = 0; gpu < gpus; ++gpu) {
        VotePath group;
        for (int32_t replica = 0; replica < replicas; ++replica) group.ranks.push_back(Rank(gpu, replica, stage));
        if (replicas > 1) paths.push_back(group);
        for (int32_t replica = 0; replica < replicas && stage + 1 < stages; ++replica) {
          const int32_t a = Rank(gpu, replica, stage);
          const int32_t b = Rank(gpu, replica, stage + 1);
          paths.push_back({.ranks = {a, b}, .point_to_point = true});
          paths.push_back({.ranks = {b, a}, .point_to_point = true});
        }
      }
      for (int32_t replica = 0; replica < replicas; ++replica) {
        VotePath inside;
        for (int32_t gpu = 0; gpu < gpus; ++gpu) inside.ranks.push_back(Rank(gpu, replica, stage));
        paths.push_back(inside);
      }
    }
  }

  bool Inside(const VotePath& path) const {
    return std::all_of(path.ranks.begin(), path.ranks.end(), [&](int32_t r) {
      return host_of[static_cast<size_t>(r)] == host_of[static_cast<size_t>(path.ranks[0])];
    });
  }

  void Slow(const std::function<bool(const VotePath&)>& is_slow) {
    for (VotePath& path : paths) path.slow = path.slow || (!Inside(path) && is_slow(path));
  }
  std::vector<PathCause> Causes() const { return VoteOnPaths(paths, host_of); }
};

bool Has(const VotePath& path, int32_t rank) {
  return std::find(path.ranks.begin(), path.ranks.end(), rank) != path.ranks.end();
}

std::function<bool(const VotePath&)> Sends(int32_t rank) {
  return [rank](const VotePath& p) { return p.point_to_point ? p.ranks[0] == rank : Has(p, rank); };
}

std::function<bool(const VotePath&)> Receives(int32_t rank) {
  return [rank](const VotePath& p) { return p.point_to_point ? p.ranks[1] == rank : Has(p, rank); };
}

Net MakeNet(const Net& shape) {
  Net net = shape;
  net.Build();
  return net;
}

TEST(PathVote, NamesTheSideOfTheNicInAnyPlaceOfThePipeline) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Net net = MakeNet({.gpus = 2,
                       .replicas = static_cast<int32_t>(2 + random.Below(4)),
                       .stages = static_cast<int32_t>(2 + random.Below(4))});
    const auto rank = static_cast<int32_t>(random.Below(net.host_of.size()));
    const bool sends = random.Below(2) == 0;
    net.Slow(sends ? Sends(rank) : Receives(rank));
    const std::vector<PathCause> causes = net.Causes();
    ASSERT_EQ(causes.size(), 1u) << "seed " << seed;
    EXPECT_EQ(causes[0].kind, sends ? PathCauseKind::kSend : PathCauseKind::kReceive) << "seed " << seed;
    EXPECT_EQ(causes[0].ranks, std::vector<int32_t>{rank}) << "seed " << seed;
  }
}

TEST(PathVote, ALinkIsNamedWithBothEnds) {
  Net net = MakeNet({.stages = 3});
  const int32_t a = net.Rank(1, 2, 0);
  const int32_t b = net.Rank(1, 2, 1);
  net.Slow([&](const VotePath& p) { return p.point_to_point && p.ranks[0] == a && p.ranks[1] == b; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kLink);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{a / 4, b / 4}));
}

TEST(PathVote, TwoCausesAreTwoResults) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Net net = MakeNet({.gpus = 2, .replicas = 4, .stages = 4});
    const int32_t a = net.Rank(0, 0, static_cast<int32_t>(random.Below(4)));
    const int32_t b = net.Rank(1, 3, static_cast<int32_t>(random.Below(4)));
    net.Slow(Sends(a));
    net.Slow(Receives(b));
    std::vector<int32_t> named;
    for (const PathCause& cause : net.Causes()) named.push_back(cause.ranks.at(0));
    std::sort(named.begin(), named.end());
    EXPECT_EQ(named, (std::vector<int32_t>{std::min(a, b), std::max(a, b)})) << "seed " << seed;
  }
}

TEST(PathVote, AGroupWithoutOtherPathsCannotBeTakenApart) {
  Net net = MakeNet({.gpus = 2, .replicas = 5, .stages = 1});
  net.Slow([](const VotePath& p) { return Has(p, 0); });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kGroup);
  EXPECT_EQ(causes[0].ranks, (std::vector<int32_t>{0, 2, 4, 6, 8}));
}

TEST(PathVote, HostsThatAllGroupsShareCannotBeTakenApart) {
  for (const bool exchange : {false, true}) {
    Net net = MakeNet({.gpus = 4, .replicas = 20, .stages = 1});
    for (VotePath& path : net.paths) path.exchange = exchange;
    net.Slow([](const VotePath&) { return true; });
    const std::vector<PathCause> causes = net.Causes();
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].kind, PathCauseKind::kHosts);
    EXPECT_EQ(causes[0].hosts.size(), 20u) << "one of them alone would be an accusation of an innocent";
    EXPECT_EQ(causes[0].paths.size(), 4u);
  }
}

TEST(PathVote, OfEqualLinksTheHostsThatTheyConnect) {
  // All rings of a stage, and the exchanges among three of its six hosts: one of the two links between these.
  Net net = MakeNet({.gpus = 2, .replicas = 6, .stages = 2});
  net.Slow([](const VotePath& p) { return !p.point_to_point && Has(p, p.ranks[0] % 2); });
  for (int32_t gpu = 0; gpu < 2; ++gpu) {
    net.paths.push_back(
        {.ranks = {net.Rank(gpu, 2, 0), net.Rank(gpu, 3, 0), net.Rank(gpu, 4, 0)}, .exchange = true, .slow = true});
    net.paths.push_back({.ranks = {net.Rank(gpu, 0, 0), net.Rank(gpu, 1, 0), net.Rank(gpu, 5, 0)}, .exchange = true});
  }
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kHosts);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{2, 3, 4}));
}

TEST(PathVote, AllPathsOfAHostAreTheHost) {
  Net net = MakeNet({.gpus = 4, .replicas = 4, .stages = 3});
  net.Slow([&](const VotePath& p) {
    return std::any_of(p.ranks.begin(), p.ranks.end(), [&](int32_t r) { return r / 4 == 5; });
  });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kHost);
  EXPECT_EQ(causes[0].hosts, std::vector<int32_t>{5});
}

TEST(PathVote, PathsBetweenPartsThatAreFineInsideAreTheFabric) {
  Net net = MakeNet({.gpus = 2, .replicas = 2, .stages = 6});
  // The leaf of the hosts of the first two stages; all that leaves it.
  const auto leaf = [&](int32_t rank) { return rank / 2 < 4; };
  net.Slow([&](const VotePath& p) { return leaf(p.ranks.front()) != leaf(p.ranks.back()); });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{0, 1, 2, 3}));
}

// Any of the GPUs [first, last] of a host sends (receives): Send/Recv in that direction, and all groups with an edge
// there.
std::function<bool(const VotePath&)> SendsAny(int32_t first, int32_t last) {
  return [=](const VotePath& p) {
    for (int32_t rank = first; rank <= last; ++rank) {
      if (Sends(rank)(p)) return true;
    }
    return false;
  };
}

std::function<bool(const VotePath&)> ReceivesAny(int32_t first, int32_t last) {
  return [=](const VotePath& p) {
    for (int32_t rank = first; rank <= last; ++rank) {
      if (Receives(rank)(p)) return true;
    }
    return false;
  };
}

TEST(PathVote, AnAdapterThatSeveralGpusShareIsOneCauseOnOneHost) {
  for (const int32_t shared : {2, 4}) {
    for (const bool sends : {true, false}) {
      Net net = MakeNet({.gpus = 4, .replicas = 4, .stages = 2});
      const int32_t first = net.Rank(4 - shared, 1, 1), last = net.Rank(3, 1, 1);
      net.Slow(sends ? SendsAny(first, last) : ReceivesAny(first, last));
      const std::vector<PathCause> causes = net.Causes();
      ASSERT_EQ(causes.size(), 1u) << shared;
      EXPECT_EQ(causes[0].kind, sends ? PathCauseKind::kSend : PathCauseKind::kReceive) << shared;
      EXPECT_EQ(causes[0].hosts, std::vector<int32_t>{5}) << shared;
      EXPECT_EQ(causes[0].ranks.size(), static_cast<size_t>(shared));
    }
  }
}

TEST(PathVote, AGroupThatMayGoRoundAnAdapterSaysNothingAgainstIt) {
  // Two members of each group on a host, behind one adapter each: one group leaves by the other one.
  std::vector<VotePath> paths = {{.ranks = {0, 1, 2, 3}, .slow = true}, {.ranks = {0, 1, 4, 5}}};
  for (const int32_t peer : {2, 4, 5}) {
    paths.push_back({.ranks = {0, peer}, .point_to_point = true, .slow = true});
    paths.push_back({.ranks = {peer, 0}, .point_to_point = true});
    paths.push_back({.ranks = {1, peer}, .point_to_point = true});
  }
  const std::vector<PathCause> causes = VoteOnPaths(paths, {0, 0, 1, 1, 2, 2});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kSend);
  EXPECT_EQ(causes[0].ranks, std::vector<int32_t>{0});
}

TEST(PathVote, WhatSeveralGpusSendToOneOtherHostIsTheirSendingSide) {
  Net net = MakeNet({.replicas = 1});
  const auto goes = [&net](int32_t from, int32_t to) {
    return [&net, from, to](const VotePath& path) {
      return path.point_to_point && net.host_of[static_cast<size_t>(path.ranks[0])] == from &&
             net.host_of[static_cast<size_t>(path.ranks[1])] == to;
    };
  };
  net.Slow(goes(0, 1));
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kSend);
  EXPECT_EQ(causes[0].hosts, std::vector<int32_t>({0}));
  // Of both ways nothing but the two hosts is common.
  net.Slow(goes(1, 0));
  const std::vector<PathCause> both = net.Causes();
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].kind, PathCauseKind::kLink);
}

TEST(PathVote, ALinkInOneDirectionIsNoAdapter) {
  Net net = MakeNet({.gpus = 4, .replicas = 4, .stages = 3});
  net.Slow([](const VotePath& p) { return p.point_to_point && p.ranks[0] / 4 == 6 && p.ranks[1] / 4 == 2; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kLink);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{6, 2})) << "in the direction of the transfer";
}

// Hosts of one stage: their groups reach beyond the leaf, so that no fine path connects them with one another.
TEST(PathVote, TheSmallerPartIsNamedThoughNothingConnectsItsHosts) {
  Net net = MakeNet({.gpus = 2, .replicas = 6, .stages = 3});
  const auto leaf = [](int32_t rank) { return rank / 2 >= 6 && rank / 2 < 9; };
  net.Slow([&](const VotePath& p) {
    return std::any_of(p.ranks.begin(), p.ranks.end(), leaf) && !std::all_of(p.ranks.begin(), p.ranks.end(), leaf);
  });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{6, 7, 8})) << "not the fifteen others";
}

TEST(PathVote, ManyHostsThatSendSlowlyAreOnePartOfTheNetwork) {
  Net net = MakeNet({.gpus = 2, .replicas = 4, .stages = 6});
  net.Slow([](const VotePath& p) { return p.point_to_point && p.ranks[0] / 2 >= 8 && p.ranks[0] / 2 < 11; });
  net.Slow([](const VotePath& p) { return !p.point_to_point && p.ranks[0] / 2 == 8; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{8, 9, 10}));
}

// A switch that all four replicas of a stage are behind.
TEST(PathVote, ManyLinksAreTheSideOfWhichNothingElseIsQuick) {
  for (const int32_t stage : {1, 2}) {
    Net net = MakeNet({.gpus = 2, .replicas = 4, .stages = 4});
    std::erase_if(net.paths, [](const VotePath& path) { return !path.point_to_point; });
    net.Slow([&](const VotePath& p) { return std::min(p.ranks[0], p.ranks[1]) / 8 == stage; });
    const std::vector<PathCause> causes = net.Causes();
    if (stage == 1) {
      ASSERT_EQ(causes.size(), 4u) << "data pass on either side";
      for (const PathCause& cause : causes) EXPECT_EQ(cause.kind, PathCauseKind::kLink);
      continue;
    }
    ASSERT_EQ(causes.size(), 1u) << "the last stage has no other";
    EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
    EXPECT_EQ(causes[0].paths.size(), 16u);
    EXPECT_TRUE(causes[0].told_apart);
    EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{12, 13, 14, 15}));
  }
}

TEST(PathVote, TwoLinksAtOnceAreTwoCauses) {
  Net net = MakeNet({.gpus = 2, .replicas = 4, .stages = 4});
  std::erase_if(net.paths, [](const VotePath& path) { return !path.point_to_point; });
  net.Slow([&](const VotePath& p) {
    const int32_t first = std::min(p.ranks[0], p.ranks[1]) / 2;
    return first == 4 || first == 9;
  });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 2u);
  for (const PathCause& cause : causes) EXPECT_EQ(cause.kind, PathCauseKind::kLink);
}

TEST(PathVote, WhatFarFewerPathsShowBesideTheMainCauseIsItsEcho) {
  // A pipeline. Host 5 sends slowly, on three GPUs; so do two other hosts, on the first GPU each.
  Net net = MakeNet({.gpus = 3, .replicas = 1, .stages = 12});
  net.Slow([](const VotePath& p) { return p.ranks[0] / 3 == 5 || p.ranks[0] == 3 * 1 || p.ranks[0] == 3 * 9; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kSend);
  EXPECT_EQ(causes[0].hosts, std::vector<int32_t>{5});
}

// Two stages; what four of the eight hosts of the first one send is slow, and with them its rings. Of the rings of the
// second nothing is known.
TEST(PathVote, OfTwoEndsTheOneWhoseOtherPathsAreSlowIsNamedWhateverExplainsThose) {
  Net net = MakeNet({.gpus = 2, .replicas = 8, .stages = 2});
  std::erase_if(net.paths, [](const VotePath& p) { return !p.point_to_point && p.ranks[0] / 2 >= 8; });
  net.Slow([](const VotePath& p) { return p.point_to_point ? p.ranks[0] / 2 < 4 : p.ranks[0] / 2 < 8; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
  EXPECT_EQ(causes[0].hosts, (std::vector<int32_t>{0, 1, 2, 3})) << "not those to which they send";
  EXPECT_TRUE(causes[0].told_apart);
}

// All rings of a job, and nothing else: each by itself would list its members.
TEST(PathVote, ManyGroupsThatNobodyCanTakeApartAreOneCause) {
  Net net = MakeNet({.gpus = 2, .replicas = 4, .stages = 4});
  net.Slow([](const VotePath& p) { return !p.point_to_point; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].hosts.size(), 16u);
  EXPECT_EQ(causes[0].paths.size(), 8u);
  EXPECT_FALSE(causes[0].told_apart) << "which of the members it is nobody knows";
}

TEST(PathVote, WhatPassesSlowNvlinkOnItsWayIsNotTheNetworks) {
  // Groups with two members on each host, and the tensor groups of one host.
  std::vector<VotePath> paths;
  for (int32_t host = 0; host < 4; ++host) {
    for (const int32_t pair : {0, 2}) {
      paths.push_back({.ranks = {4 * host + pair, 4 * host + pair + 1}, .slow = host == 2});
    }
    paths.push_back({.ranks = {4 * host, 4 * ((host + 1) % 4)}, .point_to_point = true});
  }
  for (const int32_t lane : {0, 1}) {
    VotePath group{.slow = true};
    for (int32_t host = 0; host < 4; ++host)
      group.ranks.insert(group.ranks.end(), {4 * host + lane, 4 * host + 2 + lane});
    paths.push_back(group);
  }
  std::vector<int32_t> host_of;
  for (int32_t rank = 0; rank < 16; ++rank) host_of.push_back(rank / 4);
  const std::vector<PathCause> causes = VoteOnPaths(paths, host_of);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kInside);
  EXPECT_EQ(causes[0].hosts, std::vector<int32_t>{2});
}

TEST(PathVote, OneSlowGroupBesideQuickOnesOfTheSameGpusIsNobodysNvlink) {
  std::vector<VotePath> paths = {{.ranks = {0, 1}}, {.ranks = {2, 3}}, {.ranks = {0, 2}}, {.ranks = {1, 3}}};
  const std::vector<int32_t> host_of(4, 0);
  paths[3].slow = true;
  std::vector<PathCause> causes = VoteOnPaths(paths, host_of);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kWithin);
  EXPECT_EQ(causes[0].ranks, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(causes[0].paths, std::vector<int32_t>{3});
  paths[3].exchange = true;
  EXPECT_TRUE(VoteOnPaths(paths, host_of).empty()) << "whom the routing favours";
  paths[3].exchange = false;
  paths[1].slow = true;  // now all that GPU 3 takes part in
  causes = VoteOnPaths(paths, host_of);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kInside);
  EXPECT_EQ(causes[0].ranks, std::vector<int32_t>{3});
}

TEST(PathVote, SlowInsideAHostIsTheHostsOwn) {
  Net net = MakeNet({});
  for (VotePath& path : net.paths) path.slow = net.Inside(path) && path.ranks[0] / 4 == 7;
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kInside);
  EXPECT_EQ(causes[0].hosts, std::vector<int32_t>{7});
}

TEST(PathVote, TheNvlinkOfMoreThanAQuarterOfTheHostsIsNoHosts) {
  for (const int32_t slow_hosts : {3, 4}) {
    Net net = MakeNet({});
    for (VotePath& path : net.paths) path.slow = net.Inside(path) && path.ranks[0] / 4 < slow_hosts;
    const std::vector<PathCause> causes = net.Causes();
    ASSERT_EQ(causes.size(), slow_hosts == 3 ? 3u : 1u);
    EXPECT_EQ(causes[0].kind, slow_hosts == 3 ? PathCauseKind::kInside : PathCauseKind::kWithin);
  }
}

TEST(PathVote, WhereAllThatLeavesAHostIsSlowItIsTheNetworkAndNoHost) {
  Net net = MakeNet({.gpus = 2, .replicas = 2, .stages = 4});
  net.Slow([](const VotePath&) { return true; });
  const std::vector<PathCause> causes = net.Causes();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, PathCauseKind::kFabric);
  EXPECT_EQ(causes[0].hosts.size(), 8u);
  EXPECT_EQ(static_cast<size_t>(causes[0].predicted), causes[0].paths.size());
}

TEST(PathVote, NothingSlowNobodyNamed) {
  EXPECT_TRUE(MakeNet({}).Causes().empty());
  EXPECT_TRUE(VoteOnPaths({}, {}).empty());
}

}  // namespace
}  // namespace lockstep
