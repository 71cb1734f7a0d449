#include "collector/demands/suspect_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Eight ranks on each host, from rank 0.
std::vector<wire::Rank> Ranks(int count) {
  std::vector<wire::Rank> ranks(count);
  for (int i = 0; i < count; ++i) {
    ranks[i].set_rank(i);
    ranks[i].set_host("node-" + std::to_string(i / 8));
  }
  return ranks;
}

// Of culprits: rank, or -1 and a host.
wire::Incident Incident(const std::vector<std::pair<int, std::string>>& culprits) {
  wire::Incident incident;
  for (const auto& [rank, host] : culprits) {
    wire::Culprit& culprit = *incident.mutable_verdict()->add_culprits();
    culprit.set_rank(rank);
    culprit.set_host(host);
  }
  return incident;
}

TEST(SuspectRanksTest, RanksThatAreNamedAndAllOfHostsThatAre) {
  EXPECT_THAT(SuspectRanks({Incident({{3, "node-0"}}), Incident({{-1, "node-1"}})}, Ranks(24)),
              ElementsAre(3, 8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(SuspectRanks({}, Ranks(8)), IsEmpty());
  EXPECT_THAT(SuspectRanks({Incident({})}, Ranks(8)), IsEmpty());
}

TEST(SuspectRanksTest, NobodyWhoIsGoneAndNobodyWhoIsNotOfTheJob) {
  std::vector<wire::Rank> ranks = Ranks(8);
  ranks[3].set_process_state("gone");
  EXPECT_THAT(SuspectRanks({Incident({{3, "node-0"}, {5, "node-0"}, {99, "node-7"}})}, ranks), ElementsAre(5));
}

TEST(SuspectRanksTest, NamedRanksComeBeforeThoseOfHosts) {
  std::vector<std::pair<int, std::string>> culprits = {{70, "node-8"}};
  for (int host = 0; host < 8; ++host) culprits.emplace_back(-1, "node-" + std::to_string(host));
  const std::vector<int32_t> suspects = SuspectRanks({Incident(culprits)}, Ranks(80));
  EXPECT_THAT(suspects, SizeIs(kMaxSuspectRanks));
  EXPECT_EQ(suspects.back(), 70);
}

}  // namespace
}  // namespace lockstep
