#include "detector/network/link_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/verdict/many_named.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kSteps = 30;
constexpr int32_t kGpus = 2;
constexpr double kRatio = 4;

// A job with kGpus ranks on each host, and a table of transfers in which some paths are slow in some steps.
class FindSlowLinksTest : public testing::Test {
 protected:
  explicit FindSlowLinksTest(int32_t hosts = 12) {
    for (int32_t host = 0; host < hosts; ++host) {
      trace_.hosts.push_back(absl::StrCat("h", host));
      for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
        trace_.ranks.push_back({.rank = host * kGpus + gpu, .host = host, .gpu = gpu});
      }
    }
    table_.steps = kSteps;
    steps_.steps = kSteps;
    steps_.step_seconds.assign(kSteps, 1);
    steps_.usual.assign(kSteps, 1);
  }

  void AddPath(std::vector<int32_t> ranks, bool pair, const std::function<bool(size_t)>& is_slow) {
    const auto channel = static_cast<int32_t>(table_.paths.size());
    table_.paths.push_back(
        {.ranks = std::move(ranks), .channel = channel, .point_to_point = pair, .crosses_hosts = true, .noise = 0.02});
    for (size_t step = 0; step < kSteps; ++step) {
      const double ratio = (is_slow(step) ? ratio_ : 1) * std::exp(0.02 * random_.Gaussian());
      table_.ratio.push_back(static_cast<float>(ratio));
      table_.excess_seconds.push_back(static_cast<float>(0.05 * (ratio - 1)));
    }
  }

  // Both directions between neighbours of a chain of hosts; `host` sends slowly, and receives so.
  void AddChain(int32_t host, const std::function<bool(size_t)>& is_slow, bool receives = false) {
    const auto never = [](size_t) { return false; };
    const auto hosts = static_cast<int32_t>(trace_.hosts.size());
    for (int32_t a = 0; a + 1 < hosts; ++a) {
      for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
        const int32_t left = a * kGpus + gpu, right = left + kGpus;
        AddPath({left, right}, true, a == host || (receives && a + 1 == host) ? is_slow : never);
        AddPath({right, left}, true, a + 1 == host || (receives && a == host) ? is_slow : never);
      }
    }
  }

  std::vector<SlowLink> Find() const { return FindSlowLinks(trace_, table_, steps_); }

  double ratio_ = kRatio;
  Random random_{7};
  Trace trace_;
  TransferTable table_;
  StepTable steps_;
};

TEST_F(FindSlowLinksTest, AllAdaptersOfAHostAreOneVerdictOnIt) {
  AddChain(5, [](size_t step) { return step >= 10; });
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  const Verdict& verdict = links[0].verdict;
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kCommSlowTx);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].host, "h5");
  EXPECT_TRUE(verdict.culprits[0].peer_host.empty());
  EXPECT_EQ(verdict.first_step, 10);
  EXPECT_EQ(links[0].transfers.channels.size(), 4u);
  EXPECT_TRUE(links[0].transfers.in_step.empty());
}

TEST_F(FindSlowLinksTest, AHostThatIsSlowBothWaysIsNamed) {
  AddChain(
      5, [](size_t step) { return step >= 10; }, /*receives=*/true);
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  ASSERT_EQ(links[0].verdict.culprits.size(), 1u);
  EXPECT_EQ(links[0].verdict.culprits[0].host, "h5");
  EXPECT_EQ(links[0].transfers.channels.size(), 8u);
}

TEST_F(FindSlowLinksTest, AFaultThatComesAndGoesIsRemovedInItsSteps) {
  const auto slow = [](size_t step) { return step >= 9 && step % 3 == 0; };
  AddChain(5, slow);
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  ASSERT_EQ(links[0].verdict.culprits.size(), 1u);
  EXPECT_EQ(links[0].verdict.culprits[0].host, "h5");
  EXPECT_EQ(links[0].verdict.first_step, 9);
  EXPECT_EQ(links[0].verdict.last_step, 27);
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_EQ(links[0].transfers.IsIn(static_cast<int32_t>(step)), slow(step)) << step;
  }
}

TEST_F(FindSlowLinksTest, WhatIsFarSlowerThanAllThatItMakesSlowIsNamed) {
  const auto since_ten = [](size_t step) { return step >= 10; };
  for (int32_t a = 0; a + 1 < 12; ++a) {
    for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
      const int32_t left = a * kGpus + gpu, right = left + kGpus;
      ratio_ = a == 5 ? 12 : 2;
      AddPath({left, right}, true, since_ten);
      ratio_ = a + 1 == 5 ? 12 : 2;
      AddPath({right, left}, true, since_ten);
    }
  }
  const std::vector<SlowLink> links = Find();
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links[0].verdict.verdict_class, VerdictClass::kCommSlowTx);
  ASSERT_EQ(links[0].verdict.culprits.size(), 1u);
  EXPECT_EQ(links[0].verdict.culprits[0].host, "h5");
  for (size_t i = 1; i < links.size(); ++i) EXPECT_TRUE(links[i].verdict.culprits.empty());
}

TEST_F(FindSlowLinksTest, ManyLinksThatWereNeverQuickerNameNobody) {
  size_t from = 0;
  for (const size_t onset : {size_t{0}, size_t{10}}) {
    from = onset;
    table_.paths.clear();
    table_.ratio.clear();
    table_.excess_seconds.clear();
    for (int32_t a = 0; a < 6; ++a) {
      for (int32_t b = 6; b < 12; ++b) {
        const bool slow = b == a + 6 && a < 3;
        AddPath({a * kGpus, b * kGpus}, true, [&](size_t step) { return slow && step >= from; });
      }
    }
    const std::vector<SlowLink> links = Find();
    ASSERT_EQ(links.size(), 3u);
    for (const SlowLink& link : links) {
      EXPECT_EQ(link.verdict.verdict_class, VerdictClass::kLinkSlow);
      EXPECT_EQ(link.verdict.culprits.empty(), onset == 0);
    }
  }
}

TEST_F(FindSlowLinksTest, ALinkThatShowsOnManyPathsIsNamedBesideOthersOfOne) {
  for (int32_t a = 0; a < 6; ++a) {
    for (int32_t b = 6; b < 12; ++b) {
      const bool main = a == 0 && b == 6, other = b == a + 6 && (a == 1 || a == 2);
      for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
        const bool slow = main || (other && gpu == 0);
        AddPath({a * kGpus + gpu, b * kGpus + gpu}, true, [slow](size_t) { return slow; });
        AddPath({b * kGpus + gpu, a * kGpus + gpu}, true, [main](size_t) { return main; });
      }
    }
  }
  const std::vector<SlowLink> links = Find();
  const auto is_main = [](const SlowLink& link) { return link.transfers.channels.size() == 2 * kGpus; };
  const auto found = std::find_if(links.begin(), links.end(), is_main);
  ASSERT_NE(found, links.end());
  ASSERT_EQ(found->verdict.culprits.size(), 1u);
  EXPECT_EQ(std::set<std::string>({found->verdict.culprits[0].host, found->verdict.culprits[0].peer_host}),
            std::set<std::string>({"h0", "h6"}));
}

// Slow in 60 % of the steps, some paths look lasting and others passing: still one fault.
TEST_F(FindSlowLinksTest, WhatIsSlowMostOfTheTimeOnSomePathsIsOneFault) {
  std::vector<char> on(kSteps, 0);
  for (size_t step = 10; step < kSteps; ++step) on[step] = step % 5 < 2;
  AddChain(5, [&](size_t step) { return on[step] != 0; });
  // A group's transfers of one step are seen in the next one as well.
  for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
    AddPath({4 * kGpus + gpu, 5 * kGpus + gpu, 6 * kGpus + gpu}, false,
            [&](size_t step) { return step >= 2 && (on[step] != 0 || on[step - 1] != 0 || on[step - 2] != 0); });
  }
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  ASSERT_EQ(links[0].verdict.culprits.size(), 1u);
  EXPECT_EQ(links[0].verdict.culprits[0].host, "h5");
}

TEST_F(FindSlowLinksTest, OnePathThatIsSlowAtTimesIsChance) {
  AddChain(-1, [](size_t) { return false; });
  AddPath({0, 2 * kGpus}, true, [](size_t step) { return step % 4 == 0; });
  EXPECT_TRUE(Find().empty());
}

TEST_F(FindSlowLinksTest, AnNvlinkThatIsSlowAtTimesNeedsNoSecondPath) {
  for (int32_t host = 0; host < 12; ++host) {
    AddPath({host * kGpus, host * kGpus + 1}, false,
            [host](size_t step) { return host == 3 && step >= 10 && step % 3 == 0; });
    table_.paths.back().crosses_hosts = false;
  }
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].verdict.verdict_class, VerdictClass::kNvlinkSlow);
  EXPECT_EQ(links[0].verdict.culprits[0].host, "h3");
  EXPECT_EQ(links[0].verdict.first_step, 12);
}

// Three hosts behind a switch of their own: all that passes it is slow.
TEST_F(FindSlowLinksTest, APartOfTheNetworkIsNamedWhereItWasQuickBefore) {
  constexpr int32_t kPart = 9;
  for (const size_t onset : {0U, 10U}) {
    table_ = {.steps = kSteps};
    const auto is_slow = [onset](size_t step) { return step >= onset; };
    for (int32_t host = 0; host < 12; ++host) {
      const int32_t next = host + 1 < kPart ? host + 1 : host + 1 < 12 && host >= kPart ? host + 1 : -1;
      if (next >= 0) AddPath({host * kGpus, next * kGpus}, true, [](size_t) { return false; });
      if (host < kPart) AddPath({host * kGpus, (kPart + host % 3) * kGpus}, true, is_slow);
      if (host < kPart) AddPath({(kPart + host % 3) * kGpus, host * kGpus}, true, is_slow);
    }
    const std::vector<SlowLink> links = Find();
    ASSERT_EQ(links.size(), 1u);
    const Verdict& verdict = links[0].verdict;
    EXPECT_EQ(verdict.verdict_class, VerdictClass::kGroupSlow);
    EXPECT_EQ(verdict.culprits.size(), onset == 0 ? 0 : 3) << "the network may be built that way";
    const bool tells = absl::StrContains(Sentence(verdict.evidence[0].reason), "Nothing was quicker before");
    EXPECT_EQ(tells, onset == 0);
  }
}

// Groups of four hosts each that nothing takes apart, together few of the job's hosts. None is likely to be at fault.
TEST_F(FindSlowLinksTest, SlowGroupsOfWhichNobodyKnowsWhoIsSlowNameNobody) {
  trace_.hosts.clear();
  trace_.ranks.clear();
  for (int32_t host = 0; host < 60; ++host) {
    trace_.hosts.push_back(absl::StrCat("h", host));
    trace_.ranks.push_back({.rank = host, .host = host, .gpu = 0});
  }
  for (int32_t host = 0; host < 60; host += 4) {
    AddPath({host, host + 1, host + 2, host + 3}, false, [host](size_t step) { return host < 12 && step >= 10; });
  }
  const std::vector<SlowLink> links = Find();
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].verdict.verdict_class, VerdictClass::kGroupSlow);
  std::vector<Verdict> verdicts = {links[0].verdict};
  NameNobodyOfMany({.hosts = 60, .ranks = 60}, &verdicts);
  EXPECT_TRUE(verdicts[0].culprits.empty());
}

TEST_F(FindSlowLinksTest, ACauseAmongMoreThanAQuarterOfTheHostsNamesNobody) {
  for (const size_t members : {size_t{3}, size_t{4}}) {
    table_ = {.steps = kSteps};
    AddChain(-1, [](size_t) { return false; });
    for (int32_t gpu = 0; gpu < kGpus; ++gpu) {
      std::vector<int32_t> ranks;
      for (size_t i = 0; i < members; ++i) ranks.push_back(static_cast<int32_t>(2 * i) * kGpus + gpu);
      AddPath(ranks, false, [](size_t step) { return step >= 10; });
    }
    const std::vector<SlowLink> links = Find();
    ASSERT_EQ(links.size(), 1u) << members;
    EXPECT_EQ(links[0].verdict.verdict_class, VerdictClass::kGroupSlow);
    EXPECT_EQ(links[0].verdict.culprits.size(), members == 3 ? 3u : 0u) << members;
  }
}

// Transfers of two pairs of hosts stand still, in one step or in several; those of another are well.
class FindStallsTest : public FindSlowLinksTest {
 protected:
  size_t NamedIn(size_t stalls, double seconds = 0.4, int32_t pairs = 2) {
    steps_.usual_seconds = 1;
    steps_.usual_spread_seconds = 0.01;
    const auto is_long = [stalls](size_t step) { return step >= 20 && step < 20 + stalls; };
    for (size_t step = 0; step < kSteps; ++step) steps_.step_seconds[step] = is_long(step) ? 1 + seconds : 1;
    for (int32_t host = 0; host < 6; host += 2) {
      AddPath({host * kGpus, (host + 1) * kGpus}, true, [](size_t) { return false; });
      table_.paths.back().sees_all = true;
      for (size_t step = 0; step < kSteps; ++step) {
        table_.longer_seconds.push_back(host < 2 * pairs && is_long(step) ? static_cast<float>(seconds) : 0.001F);
      }
    }
    const std::vector<Verdict> verdicts = FindStalls(trace_, table_, steps_, {}, 0.03);
    EXPECT_EQ(verdicts.size(), 1u);
    return verdicts.empty() ? 0 : verdicts[0].culprits.size();
  }

  FindStallsTest() : FindSlowLinksTest(16) {}
};

TEST_F(FindStallsTest, WhatHappenedOnceAmongSeveralHostsNamesNobody) { EXPECT_EQ(NamedIn(1), 0u); }

TEST_F(FindStallsTest, WhatLastsForMostOfAStepNamesThem) { EXPECT_EQ(NamedIn(1, 0.7), 4u); }

TEST_F(FindStallsTest, WhatHappenedOnceToOnePathNamesNobodyHoweverLongItLasted) {
  EXPECT_EQ(NamedIn(1, 0.7, 1), 0u);
  EXPECT_GT(NamedIn(2, 0.7, 1), 0u);
}

TEST_F(FindStallsTest, WhatHappensAgainNamesAllThatNothingTellsApart) { EXPECT_EQ(NamedIn(2), 4u); }

}  // namespace
}  // namespace lockstep
