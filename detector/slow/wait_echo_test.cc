// Which suspects are echoes of a slow group, on cases and against a slow version on random input.

#include "detector/slow/wait_echo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Suspect SuspectOf(int32_t rank, int32_t first_step, double excess) {
  return {.rank = rank, .first_step = first_step, .excess_seconds = excess};
}

constexpr int32_t kRanks = 12;
constexpr int32_t kOfHost = 4;

// Rank i is on host i / kOfHost.
Trace EmptyTrace() {
  Trace trace;
  for (int32_t rank = 0; rank < kRanks; ++rank) trace.ranks.push_back({.rank = rank, .host = rank / kOfHost});
  return trace;
}

class WaitEchoTest : public testing::Test {
 protected:
  // Returns its channel.
  int32_t AddGroup(std::vector<int32_t> members, bool collective = true) {
    trace_.communicators.push_back({.members = std::move(members)});
    matched_.channels.push_back({.communicator = static_cast<int32_t>(trace_.communicators.size()) - 1,
                                 .source = collective ? -1 : 0,
                                 .destination = collective ? -1 : 1});
    return static_cast<int32_t>(matched_.channels.size()) - 1;
  }

  std::vector<int32_t> Left(std::vector<Suspect> suspects, const std::vector<SlowChannel>& slow) const {
    DropWaitEchoes(trace_, matched_, {{.channels = slow}}, &suspects);
    std::vector<int32_t> ranks;
    for (const Suspect& suspect : suspects) ranks.push_back(suspect.rank);
    return ranks;
  }

  Trace trace_ = EmptyTrace();
  OperationInstances matched_;
};

using Ranks = std::vector<int32_t>;

TEST_F(WaitEchoTest, MembersThatBecameSlowWithTheirGroupAreEchoes) {
  const int32_t ring = AddGroup({0, 1, 2, 3});
  const std::vector<Suspect> suspects = {SuspectOf(9, 2, 0.2), SuspectOf(0, 6, 0.1), SuspectOf(2, 6, 0.1),
                                         SuspectOf(3, 5, 0.09)};
  EXPECT_EQ(Left(suspects, {{.channel = ring, .first_step = 6}}), Ranks({9}));
  EXPECT_EQ(Left(suspects, {}), Ranks({9, 0, 2, 3}));
}

TEST_F(WaitEchoTest, AFewMembersAreNoEcho) {
  const int32_t ring = AddGroup({0, 1, 2, 3});
  EXPECT_EQ(Left({SuspectOf(0, 6, 0.1), SuspectOf(2, 6, 0.1)}, {{.channel = ring, .first_step = 6}}), Ranks({0, 2}));
}

TEST_F(WaitEchoTest, WhoWasSlowBeforeTheGroupIsNoEcho) {
  const int32_t ring = AddGroup({0, 1});
  EXPECT_EQ(Left({SuspectOf(0, 2, 0.1), SuspectOf(1, 2, 0.1)}, {{.channel = ring, .first_step = 6}}), Ranks({0, 1}));
}

TEST_F(WaitEchoTest, WhoIsFarSlowerThanTheEchoesIsSlowHimself) {
  const int32_t ring = AddGroup({0, 1, 2, 3});
  EXPECT_EQ(
      Left({SuspectOf(2, 6, 0.3), SuspectOf(0, 6, 0.1), SuspectOf(1, 6, 0.1)}, {{.channel = ring, .first_step = 6}}),
      Ranks({2}));
}

TEST_F(WaitEchoTest, OfTwoThatDifferFarNeitherIsAnEcho) {
  const int32_t pair = AddGroup({0, 1});
  EXPECT_EQ(Left({SuspectOf(0, 6, 0.1), SuspectOf(1, 6, 0.1)}, {{.channel = pair, .first_step = 6}}), Ranks({}));
  EXPECT_EQ(Left({SuspectOf(0, 6, 0.3), SuspectOf(1, 6, 0.1)}, {{.channel = pair, .first_step = 6}}), Ranks({0, 1}));
}

TEST_F(WaitEchoTest, SendAndRecvHaveNoRingThatCouldEcho) {
  const int32_t pair = AddGroup({0, 1}, /*collective=*/false);
  EXPECT_EQ(Left({SuspectOf(0, 6, 0.1), SuspectOf(1, 6, 0.1)}, {{.channel = pair, .first_step = 6}}), Ranks({0, 1}));
}

TEST_F(WaitEchoTest, WhoIsLateByTheSameBesideAReceiverWaitsForIt) {
  const int32_t pair = AddGroup({0, 4}, /*collective=*/false);  // from host 0 to host 1
  const std::vector<SlowChannel> slow = {{.channel = pair, .first_step = 6}};
  const Suspect elsewhere = SuspectOf(9, 6, 0.2);
  EXPECT_EQ(Left({elsewhere, SuspectOf(5, 6, 0.1), SuspectOf(6, 5, 0.099), SuspectOf(7, 7, 0.098)}, slow), Ranks({9}));
  EXPECT_EQ(Left({SuspectOf(5, 6, 0.1), SuspectOf(6, 6, 0.08)}, slow), Ranks({5, 6})) << "not by the same";
  EXPECT_EQ(Left({SuspectOf(5, 2, 0.1), SuspectOf(6, 2, 0.1)}, slow), Ranks({5, 6})) << "before";
  EXPECT_EQ(Left({SuspectOf(5, 6, 0.1)}, slow), Ranks({5})) << "alone";
  EXPECT_EQ(Left({SuspectOf(4, 6, 0.1), SuspectOf(5, 6, 0.1)}, slow), Ranks({4, 5})) << "the receiver is slow itself";
}

// By the definition, group by group and suspect by suspect.
Ranks Reference(const Trace& trace, const OperationInstances& matched, const std::vector<SlowTransfers>& transfers,
                const std::vector<Suspect>& suspects) {
  Ranks left;
  for (const Suspect& suspect : suspects) {
    bool echo = false;
    for (const SlowTransfers& together : transfers) {
      for (const SlowChannel& slow : together.channels) {
        const OperationChannel& channel = matched.channels[static_cast<size_t>(slow.channel)];
        const Ranks& members = trace.communicators[static_cast<size_t>(channel.communicator)].members;
        const auto is_in = [&](int32_t rank) {
          return std::find(members.begin(), members.end(), rank) != members.end();
        };
        const auto since_then = [&](const Suspect& other) { return other.first_step + 1 >= slow.first_step; };
        std::vector<double> sounds;
        if (!channel.collective()) {
          const int32_t receiver = members[1];
          bool is_slow = false;
          for (const Suspect& other : suspects) {
            is_slow = is_slow || other.rank == receiver;
            if (other.rank / kOfHost == receiver / kOfHost && since_then(other)) sounds.push_back(other.excess_seconds);
          }
          if (is_slow || sounds.size() < 2) continue;
          const auto [least, most] = std::minmax_element(sounds.begin(), sounds.end());
          const bool beside = suspect.rank / kOfHost == receiver / kOfHost && since_then(suspect);
          echo = echo || (beside && *least >= 0.9 * *most);
          continue;
        }
        for (const Suspect& other : suspects) {
          if (is_in(other.rank) && other.first_step + 1 >= slow.first_step) sounds.push_back(other.excess_seconds);
        }
        if (2 * sounds.size() <= members.size()) continue;
        std::sort(sounds.begin(), sounds.end(), [](double a, double b) { return a > b; });
        const double far = 2 * sounds[sounds.size() / 2];
        const auto near = std::count_if(sounds.begin(), sounds.end(), [far](double sound) { return sound < far; });
        echo = echo || (is_in(suspect.rank) && suspect.first_step + 1 >= slow.first_step && near > 1 &&
                        suspect.excess_seconds < far);
      }
    }
    if (!echo) left.push_back(suspect.rank);
  }
  return left;
}

TEST_F(WaitEchoTest, AgreesWithTheSlowReference) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    trace_ = EmptyTrace();
    matched_ = {};
    const double spread = random.Below(2) == 0 ? 0.3 : 0.012;
    std::vector<SlowTransfers> transfers(1 + random.Below(3));
    for (SlowTransfers& together : transfers) {
      const auto first = static_cast<int32_t>(random.Below(6));  // all within the ranks
      const int32_t channel = AddGroup({first, first + 2, first + 4, first + 5}, random.Below(4) > 0);
      together.channels = {{.channel = channel, .first_step = static_cast<int32_t>(random.Below(6))}};
    }
    std::vector<Suspect> suspects;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      if (random.Below(3) == 0) continue;
      suspects.push_back(SuspectOf(rank, static_cast<int32_t>(random.Below(8)), 0.1 + spread * random.Unit()));
    }
    std::sort(suspects.begin(), suspects.end(),
              [](const Suspect& a, const Suspect& b) { return a.excess_seconds > b.excess_seconds; });
    const Ranks expected = Reference(trace_, matched_, transfers, suspects);
    DropWaitEchoes(trace_, matched_, transfers, &suspects);
    Ranks left;
    for (const Suspect& suspect : suspects) left.push_back(suspect.rank);
    EXPECT_EQ(left, expected) << round;
  }
}

}  // namespace
}  // namespace lockstep
