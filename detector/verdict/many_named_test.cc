#include "detector/verdict/many_named.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr JobSize kJob = {.hosts = 12, .ranks = 96};

std::vector<Culprit> HostsNamed(int count) {
  std::vector<Culprit> culprits;
  for (int host = 0; host < count; ++host) culprits.push_back({.host = absl::StrCat("h", host)});
  return culprits;
}

// One rank of each host.
std::vector<Culprit> RanksNamed(int count) {
  std::vector<Culprit> culprits = HostsNamed(count);
  for (int host = 0; host < count; ++host) culprits[static_cast<size_t>(host)].rank = 8 * host;
  return culprits;
}

Verdict Naming(VerdictScope scope, VerdictClass verdict_class, std::vector<Culprit> culprits, const JobSize& job) {
  std::vector<Verdict> verdicts = {Verdict::Accusation(scope, verdict_class)};
  verdicts[0].culprits = std::move(culprits);
  NameNobodyOfMany(job, &verdicts);
  return verdicts[0];
}

TEST(ManyNamedTest, AQuarterOrTwoAreFew) {
  EXPECT_TRUE(IsFewOf(2, 2)) << "the ends of the only link";
  EXPECT_FALSE(IsFewOf(3, 11));
  EXPECT_TRUE(IsFewOf(3, 12));
  EXPECT_FALSE(IsFewOf(4, 12));
}

TEST(ManyNamedTest, NoClassButHangsAccusesMoreThanAQuarterOfTheHosts) {
  for (int i = 0; i <= static_cast<int>(VerdictClass::kCounterOutlier); ++i) {
    const auto verdict_class = static_cast<VerdictClass>(i);
    for (const VerdictScope scope : {VerdictScope::kMachine, VerdictScope::kNetwork}) {
      const Verdict few = Naming(scope, verdict_class, HostsNamed(3), kJob);
      EXPECT_EQ(few.culprits.size(), 3u) << Name(verdict_class);
      EXPECT_EQ(few.scope, scope) << Name(verdict_class);
      const Verdict many = Naming(scope, verdict_class, HostsNamed(4), kJob);
      EXPECT_EQ(many.culprits.size(), IsHang(verdict_class) ? 4u : 0u) << Name(verdict_class);
      const bool is_blamed = IsHang(verdict_class) || scope == VerdictScope::kNetwork;
      EXPECT_EQ(many.scope, is_blamed ? scope : VerdictScope::kUnknown) << Name(verdict_class);
    }
    const Verdict structural = Naming(VerdictScope::kStructural, verdict_class, HostsNamed(4), kJob);
    EXPECT_EQ(structural.culprits.size(), 4u) << Name(verdict_class) << ": blames no machine";
  }
}

TEST(ManyNamedTest, OfHostsThatNothingTellsApartFourAreNamedAndNotFive) {
  constexpr JobSize kLarge = {.hosts = 40, .ranks = 320};
  const auto named = [&](int count, double confidence) {
    std::vector<Culprit> culprits = HostsNamed(count);
    for (Culprit& culprit : culprits) culprit.confidence = confidence;
    return Naming(VerdictScope::kNetwork, VerdictClass::kGroupSlow, culprits, kLarge).culprits.size();
  };
  EXPECT_EQ(named(4, 1.0 / 4), 4u);
  EXPECT_EQ(named(5, 1.0 / 5), 0u);
  EXPECT_EQ(named(5, 0.8), 5u) << "each is behind the switch";
  // Of a tensor group on two hosts each is as likely as the other.
  std::vector<Culprit> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    ranks.push_back({.host = absl::StrCat("h", rank / 4), .rank = rank, .confidence = 1.0 / 8});
  }
  EXPECT_EQ(Naming(VerdictScope::kNetwork, VerdictClass::kGroupSlow, ranks, kLarge).culprits.size(), 8u);
}

TEST(ManyNamedTest, OfAGroupTheRanksCount) {
  const auto named = [](std::vector<Culprit> culprits, const JobSize& job) {
    return Naming(VerdictScope::kNetwork, VerdictClass::kGroupSlow, std::move(culprits), job).culprits.size();
  };
  EXPECT_EQ(named(RanksNamed(12), kJob), 12u) << "one GPU of eight on each host";
  EXPECT_EQ(named(RanksNamed(12), {.hosts = 12, .ranks = 12}), 0u) << "all there are";
  std::vector<Culprit> mixed = RanksNamed(12);
  mixed.back().rank = -1;
  EXPECT_EQ(named(mixed, kJob), 0u) << "a whole host among them";
}

TEST(ManyNamedTest, BothEndsOfALinkCount) {
  std::vector<Culprit> links = HostsNamed(2);
  links[0].peer_host = "h8";
  links[1].peer_host = "h9";
  EXPECT_TRUE(Naming(VerdictScope::kNetwork, VerdictClass::kLinkSlow, links, kJob).culprits.empty());
  links.pop_back();
  EXPECT_EQ(Naming(VerdictScope::kNetwork, VerdictClass::kLinkSlow, links, {.hosts = 2, .ranks = 2}).culprits.size(),
            1u);
}

}  // namespace
}  // namespace lockstep
