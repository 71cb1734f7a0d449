#include "detector/steps/own_profile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kOfHost = 4;
constexpr float kWork = 0.1F;

// Peers on `hosts` hosts of four, whose own times before their operations in one step are given. These begin at
// `start_seconds`, each.
class OwnProfileTest : public ::testing::Test {
 protected:
  void Build(int32_t hosts, const std::vector<double>& start_seconds = {1}) {
    for (int32_t host = 0; host < hosts; ++host) trace_.hosts.push_back("h" + std::to_string(host));
    roles_.classes.emplace_back();
    steps_.steps = 1;
    steps_.usual = {1};
    for (int32_t rank = 0; rank < hosts * kOfHost; ++rank) {
      trace_.ranks.push_back({.rank = rank, .host = rank / kOfHost});
      const auto at = static_cast<uint32_t>(trace_.operations.size());
      for (const double seconds : start_seconds) {
        const auto start_ns = static_cast<int64_t>(1e9 * seconds);
        trace_.operations.push_back({.enqueue_ns = 0, .start_ns = start_ns, .end_ns = start_ns + 1, .communicator = 0});
        times_.before.push_back({.seconds = kWork});
      }
      trace_.first_operation.push_back(at);
      steps_.ranges.push_back({.begin = at, .end = static_cast<uint32_t>(trace_.operations.size()), .complete = true});
      roles_.classes[0].push_back(rank);
      roles_.class_of_rank.push_back(0);
      without_begins_.push_back(0);
    }
    trace_.first_operation.push_back(trace_.operations.size());
  }

  void Slow(size_t rank, float seconds) { times_.before[rank].seconds += seconds; }

  OwnProfile Sum() const { return SumOwnTimes(trace_, roles_, steps_, times_, without_begins_); }
  std::vector<float> Excess() const { return Sum().excess; }

  Trace trace_;
  JobRoles roles_;
  std::vector<char> without_begins_;
  StepTable steps_;
  OwnTimes times_;
};

// Of fifteen others eight are slow for every healthy rank, and seven for every slow one.
TEST_F(OwnProfileTest, OfTwoHostsTheQuickerSaysWhatTheWorkNeeds) {
  Build(2);
  for (size_t rank = 0; rank < kOfHost; ++rank) Slow(rank, 0.2F);
  Slow(6, 0.02F);
  const std::vector<float> excess = Excess();
  for (size_t rank = 0; rank < kOfHost; ++rank) EXPECT_NEAR(excess[rank], 0.2F, 1e-6);
  EXPECT_NEAR(excess[5], 0, 1e-6);
  EXPECT_NEAR(excess[6], 0.02F, 1e-6) << "slow beside a whole slow host";
}

TEST_F(OwnProfileTest, OfMoreHostsTheMiddleRankSaysIt) {
  Build(3);
  for (size_t rank = 0; rank < kOfHost; ++rank) Slow(rank, 0.2F);
  for (size_t rank = kOfHost; rank < 2 * kOfHost; ++rank) Slow(rank, 0.01F);
  const std::vector<float> excess = Excess();
  EXPECT_NEAR(excess[0], 0.19F, 1e-6);
  EXPECT_NEAR(excess[kOfHost], 0, 1e-6);
}

// They seem to work less, or more: nothing is known of them, and they are nobody's measure.
TEST_F(OwnProfileTest, RanksWhoseBeginsAreNotSeenAreNoPeers) {
  Build(3);
  for (size_t rank = 0; rank < 7; ++rank) {
    times_.before[rank].seconds = 0.01F;
    without_begins_[rank] = 1;
  }
  Slow(7, 0.2F);
  const std::vector<float> excess = Excess();
  EXPECT_TRUE(std::isnan(excess[0]));
  EXPECT_NEAR(excess[7], 0.2F, 1e-6);
  EXPECT_NEAR(excess[8], 0, 1e-6);
}

TEST_F(OwnProfileTest, TwoRanksOnTwoHostsAreComparedWithOneAnother) {
  Build(2);
  for (size_t rank = 0; rank < 8; ++rank) {
    if (rank != 0 && rank != kOfHost) times_.before[rank].seconds = -1;
  }
  Slow(0, 0.2F);
  const std::vector<float> excess = Excess();
  EXPECT_NEAR(excess[0], 0.2F, 1e-6);
  EXPECT_NEAR(excess[kOfHost], -0.2F, 1e-6);
}

// Four expert groups of four, one rank of each on a host: what all ranks of a place have is the tokens'.
TEST_F(OwnProfileTest, WhatGoesWithAnExpertPlaceIsNoRanks) {
  Build(4);
  for (int32_t group = 0; group < 4; ++group) {
    trace_.communicators.push_back({});
    roles_.communicators.push_back({.role = GroupRole::kExpert});
    for (int32_t place = 0; place < kOfHost; ++place) {
      trace_.communicators.back().members.push_back(group * kOfHost + place);
    }
  }
  for (size_t group = 0; group < 4; ++group) Slow(group * kOfHost + 1, 0.05F);
  Slow(kOfHost + 1, 0.02F);
  Slow(2, 0.03F);
  const std::vector<float> excess = Excess();
  EXPECT_NEAR(excess[1], 0, 1e-6);
  EXPECT_NEAR(excess[kOfHost + 1], 0.02F, 1e-6) << "beyond its place";
  EXPECT_NEAR(excess[2], 0.03F, 1e-6) << "alone at its place";
}

// Three operations of each rank, of which the first called begins last. The own time before that one begins during
// that before the second, at its end, before it, or with it; the time before the third is a part of it.
TEST_F(OwnProfileTest, TimeThatIsOwnBeforeTwoOperationsCountsOnce) {
  Build(1, {1.06, 1, 1.03});
  const std::vector<float> before_last = {0.1F, 0.05F, 0.3F, 0.16F}, of_all = {0.16F, 0.15F, 0.3F, 0.16F};
  for (size_t rank = 0; rank < kOfHost; ++rank) {
    times_.before[3 * rank].seconds = before_last[rank];
    times_.before[3 * rank + 2].seconds = 0.01F;
  }
  const OwnProfile profile = Sum();
  for (size_t rank = 0; rank < kOfHost; ++rank) {
    EXPECT_NEAR(profile.own[rank], of_all[rank], 1e-6) << rank;
    EXPECT_NEAR(profile.shared[rank], of_all[rank], 1e-6) << rank;
    EXPECT_NEAR(profile.largest[rank], std::max(before_last[rank], kWork), 1e-6) << "of one operation, " << rank;
  }
  EXPECT_NEAR(profile.excess[2], 0.14F, 1e-6);
}

}  // namespace
}  // namespace lockstep
