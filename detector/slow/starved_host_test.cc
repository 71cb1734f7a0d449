// Hosts whose ranks launch late by turns, on built profiles.

#include "detector/slow/starved_host.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/testing/peer_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kHosts = 8, kOfHost = 8, kRanks = kHosts * kOfHost, kSteps = 40;
constexpr float kLate = 0.4F;
constexpr size_t kStarved = 2, kOnset = 12;

class StarvedHostTest : public ::testing::Test {
 protected:
  StarvedHostTest() {
    for (size_t host = 0; host < kHosts; ++host) trace_.hosts.push_back("h" + std::to_string(host));
    for (size_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = static_cast<int32_t>(rank / kOfHost)});
    }
  }

  // `launched_late`: the operations behind the work start as they are launched.
  void Slow(size_t rank, size_t step, bool launched_late) {
    peers_.Slow(rank, step, step + 1, kLate);
    if (launched_late) profile_.host_bound[rank * kSteps + step] += 2 * kLate;
  }

  // In every step since the onset some rank of the host, each time another one.
  void SlowByTurns(bool launched_late, size_t of_ranks = kOfHost) {
    for (size_t step = kOnset; step < kSteps; ++step) {
      Slow(kStarved * kOfHost + random_.Below(of_ranks), step, launched_late);
    }
  }

  std::vector<SlowCause> Find(std::vector<SlowCause> causes = {}) const {
    AddStarvedHosts(trace_, roles_, profile_, steps_, {}, &causes);
    return causes;
  }

  Random random_{11};
  Trace trace_;
  PeerProfile peers_{kRanks, kSteps, /*step_seconds=*/1.2,
                     [this](size_t, size_t) { return static_cast<float>(0.005 * random_.Gaussian()); }};
  JobRoles& roles_ = peers_.roles;
  StepTable& steps_ = peers_.steps;
  OwnProfile& profile_ = peers_.profile;
};

TEST_F(StarvedHostTest, AHostWhoseRanksLaunchLateByTurnsIsTheCause) {
  SlowByTurns(/*launched_late=*/true);
  const std::vector<SlowCause> causes = Find();
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].kind, SlowKind::kHost);
  EXPECT_TRUE(causes[0].whole_host);
  EXPECT_EQ(causes[0].suspects.size(), kOfHost);
  for (const Suspect& suspect : causes[0].suspects) {
    EXPECT_EQ(static_cast<size_t>(suspect.rank) / kOfHost, kStarved);
    EXPECT_EQ(static_cast<size_t>(suspect.first_step), kOnset);
    EXPECT_TRUE(suspect.in_some_steps());
  }
}

// Whatever made them slow, the host ran ahead of its GPUs.
// In one step of four, and never again in the same rank.
TEST_F(StarvedHostTest, AHostWhoseRanksLaunchLateNowAndThenIsTheCause) {
  for (size_t step = kOnset, turn = 0; step < kSteps; step += 4, ++turn) {
    Slow(kStarved * kOfHost + turn % kOfHost, step, /*launched_late=*/true);
  }
  const std::vector<SlowCause> causes = Find();
  ASSERT_EQ(causes.size(), 1U);
  const Suspect& strongest = causes[0].suspects.front();
  EXPECT_EQ(static_cast<size_t>(strongest.rank) / kOfHost, kStarved);
  EXPECT_EQ(strongest.first_step, static_cast<int32_t>(kOnset));
  EXPECT_NEAR(strongest.share_of_steps, 0.25, 0.03);
  EXPECT_GT(strongest.slow_above_seconds, kLate / 4) << "its other steps are none of these";
}

TEST_F(StarvedHostTest, LateLaunchesOfAnyHostNowAndThenAreNobodys) {
  for (size_t step = 2; step < kSteps; step += 2) Slow(random_.Below(kRanks), step, /*launched_late=*/true);
  EXPECT_TRUE(Find().empty());
}

TEST_F(StarvedHostTest, SlowWorkWhoseLaunchesCameEarlyIsNotTheHosts) {
  SlowByTurns(/*launched_late=*/false);
  EXPECT_TRUE(Find().empty());
}

TEST_F(StarvedHostTest, OneRankThatLaunchesLateIsNotTheHost) {
  SlowByTurns(/*launched_late=*/true, /*of_ranks=*/1);
  EXPECT_TRUE(Find().empty());
}

TEST_F(StarvedHostTest, LateLaunchesThatGoRoundAllHostsAreNobodys) {
  for (size_t step = 0; step < kSteps; ++step) {
    for (int i = 0; i < 6; ++i) Slow(random_.Below(kRanks), step, /*launched_late=*/true);
  }
  EXPECT_TRUE(Find().empty());
}

TEST_F(StarvedHostTest, WhereNobodysHostIsAheadALateLaunchTellsNothing) {
  SlowByTurns(/*launched_late=*/true);
  for (size_t at = 0; at < profile_.host_bound.size(); ++at) profile_.host_bound[at] = profile_.own[at];
  EXPECT_TRUE(Find().empty());
}

TEST_F(StarvedHostTest, WhatSingleRanksWereSuspectedOfBecomesPartOfIt) {
  SlowByTurns(/*launched_late=*/true);
  const auto rank = static_cast<int32_t>(kStarved * kOfHost);
  SlowCause single, other_host, whole;
  single.suspects = {{.rank = rank,
                      .first_step = static_cast<int32_t>(kOnset),
                      .last_step = static_cast<int32_t>(kSteps) - 1,
                      .excess_seconds = kLate,
                      .slow_above_seconds = kLate / 2}};
  other_host.suspects = {{.rank = 0, .last_step = static_cast<int32_t>(kSteps) - 1, .excess_seconds = kLate}};
  const std::vector<SlowCause> causes = Find({single, other_host});
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].suspects[0].rank, 0);
  EXPECT_TRUE(causes[1].starved);
  whole.whole_host = true;
  whole.suspects = single.suspects;
  whole.suspects[0].slow_above_seconds = -1;
  whole.suspects[0].steps = static_cast<int32_t>(kSteps - kOnset);
  ASSERT_EQ(Find({whole}).size(), 1U) << "a host that is told of already is not told twice";
  EXPECT_FALSE(Find({whole})[0].starved);
  // Ranks that take turns may be slow together for a while.
  whole.suspects[0].last_step = static_cast<int32_t>(kOnset) + 1;
  ASSERT_EQ(Find({whole}).size(), 1U);
  EXPECT_TRUE(Find({whole})[0].starved);
}

}  // namespace
}  // namespace lockstep
