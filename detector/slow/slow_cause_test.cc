#include "detector/slow/slow_cause.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 16, kSteps = 12, kOnset = 4;
constexpr float kWork = 1, kStall = 0.5;
constexpr int64_t kLeadNs = 200'000'000;  // from launch to begin
constexpr int64_t kStallNs = 500'000'000;

// Four hosts of four ranks, all peers, each with one second of own work per step.
class SlowCauseTest : public ::testing::Test {
 protected:
  SlowCauseTest() {
    for (int32_t host = 0; host < 4; ++host) trace_.hosts.push_back("h" + std::to_string(host));
    roles_.classes.emplace_back();
    for (size_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = static_cast<int32_t>(rank) / 4});
      roles_.classes[0].push_back(static_cast<int32_t>(rank));
    }
    roles_.class_of_rank.assign(kRanks, 0);
    profile_.ranks = kRanks;
    profile_.steps = kSteps;
    profile_.own.assign(kRanks * kSteps, kWork);
    profile_.shared = profile_.own;
    profile_.excess.assign(kRanks * kSteps, 0);
    profile_.host_bound.assign(kRanks * kSteps, 0);
    profile_.largest.assign(kRanks * kSteps, kWork / 10);
    for (uint32_t cell = 0; cell < kRanks * kSteps; ++cell) {
      profile_.largest_before.push_back(cell);
      trace_.operations.push_back({.enqueue_ns = 0, .start_ns = kLeadNs});
    }
  }

  // What is behind the longest interval begins so much later than it was launched.
  void GetAhead(size_t rank, int64_t by_ns) {
    for (size_t step = kOnset; step < kSteps; ++step) trace_.operations[rank * kSteps + step].start_ns += by_ns;
  }

  // Since the onset, in as many steps as `shown`.
  void Stall(size_t rank, size_t shown) {
    for (size_t step = kOnset; step < kOnset + shown; ++step) {
      const size_t at = rank * kSteps + step;
      profile_.own[at] += kStall;
      profile_.shared[at] += kStall;
      profile_.excess[at] = kStall;
      profile_.largest[at] += kStall;
    }
  }

  static Suspect SuspectOf(int32_t rank) {
    return {.rank = rank,
            .first_step = kOnset,
            .last_step = kSteps - 1,
            .steps = kSteps - kOnset,
            .excess_seconds = kStall,
            .own_seconds = kWork + kStall,
            .share_of_steps = 1,
            .peers = kRanks};
  }

  Trace trace_;
  JobRoles roles_;
  OwnProfile profile_;
};

TEST_F(SlowCauseTest, PeersNeedWhatTheExcessIsCountedFromWhoeverIsSampled) {
  Stall(5, kSteps - kOnset);
  for (size_t step = kOnset; step < kSteps; ++step) profile_.excess[5 * kSteps + step] = 0.4F;
  Suspect suspect = SuspectOf(5);
  suspect.excess_seconds = 0.4;
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, {suspect});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_NEAR(causes[0].peer_seconds, 1.1, 1e-6);
}

TEST_F(SlowCauseTest, AStallAtOnePlaceOfAllRanksOfAHostIsItsInput) {
  std::vector<Suspect> suspects;
  for (const int32_t rank : {4, 5, 6, 7}) {
    Stall(static_cast<size_t>(rank), kSteps - kOnset);
    suspects.push_back(SuspectOf(rank));
  }
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, suspects);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].whole_host);
  EXPECT_EQ(causes[0].kind, SlowKind::kInput);
}

// Where nearly all work of a step is one interval, its place does not tell a slow GPU from missing input.
TEST_F(SlowCauseTest, AHostThatGetsAheadOfItsGpuDoesNotWaitForInput) {
  Stall(4, kSteps - kOnset);
  GetAhead(4, kStallNs / 5);
  EXPECT_EQ(GroupSuspects(trace_, roles_, profile_, {SuspectOf(4)})[0].kind, SlowKind::kInput);
  GetAhead(4, kStallNs);
  EXPECT_EQ(GroupSuspects(trace_, roles_, profile_, {SuspectOf(4)})[0].kind, SlowKind::kCompute);
}

// A step of two intervals of half a second each. In as many steps as not, noise of half a second hides the growth of
// the other one.
TEST_F(SlowCauseTest, NoiseThatHidesWhatGrowsElsewhereDoesNotMakeItInput) {
  profile_.largest.assign(kRanks * kSteps, kWork / 2);
  Stall(4, kSteps - kOnset);
  EXPECT_EQ(GroupSuspects(trace_, roles_, profile_, {SuspectOf(4)})[0].kind, SlowKind::kInput);
  for (size_t step = kOnset; step < kSteps; ++step) {
    const float noise = step % 2 == 0 ? kStall : -kStall;
    profile_.shared[4 * kSteps + step] += noise;
    profile_.own[4 * kSteps + step] += noise;
  }
  EXPECT_EQ(GroupSuspects(trace_, roles_, profile_, {SuspectOf(4)})[0].kind, SlowKind::kCompute);
}

// Rank 7 lost the record beside its stall in most steps: it shows in `shown` of eight.
TEST_F(SlowCauseTest, ARankWhoseStallsAreMostlyHiddenIsRemovedWithItsHost) {
  std::vector<Suspect> suspects;
  for (const int32_t rank : {4, 5, 6}) {
    Stall(static_cast<size_t>(rank), kSteps - kOnset);
    suspects.push_back(SuspectOf(rank));
  }
  Stall(7, 1);
  EXPECT_EQ(GroupSuspects(trace_, roles_, profile_, suspects)[0].suspects.size(), 3u) << "one step is chance";
  profile_.excess[7 * kSteps + kOnset] = 0;
  Stall(7, 2);
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, suspects);
  ASSERT_EQ(causes.size(), 1u);
  ASSERT_EQ(causes[0].suspects.size(), 4u);
  const Suspect& hidden = causes[0].suspects[3];
  EXPECT_EQ(hidden.rank, 7);
  EXPECT_EQ(hidden.steps, 2);
  EXPECT_GE(hidden.excess_seconds, kStall) << "of the steps in which it shows, not of all";
  EXPECT_GE(hidden.own_seconds, kWork + kStall);
  EXPECT_EQ(hidden.before_seconds, kWork);
}

// Two of three ranks lost the first half of their stretch. Rank 7, no suspect, was slow in that half as well.
TEST_F(SlowCauseTest, AHostIsSlowSinceTheOnsetThatLostRecordsHideOfSomeOfItsRanks) {
  std::vector<Suspect> suspects;
  for (const int32_t rank : {4, 5, 6}) {
    Stall(static_cast<size_t>(rank), kSteps - kOnset);
    suspects.push_back(SuspectOf(rank));
  }
  for (const size_t cut : {0, 1}) {
    suspects[cut].first_step += 4;
    suspects[cut].before_seconds = kWork + kStall;
  }
  Stall(7, kSteps - kOnset);
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, suspects);
  ASSERT_EQ(causes.size(), 1u);
  ASSERT_EQ(causes[0].suspects.size(), 4u);
  for (const Suspect& suspect : causes[0].suspects) {
    EXPECT_EQ(suspect.first_step, static_cast<int32_t>(kOnset));
    EXPECT_EQ(suspect.last_step, static_cast<int32_t>(kSteps) - 1);
    EXPECT_NEAR(suspect.before_seconds, kWork, 1e-6);
  }
}

TEST_F(SlowCauseTest, SingleRanksBringNobodyElse) {
  Stall(4, kSteps - kOnset);
  Stall(5, 2);
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, {SuspectOf(4)});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_FALSE(causes[0].whole_host);
  EXPECT_EQ(causes[0].suspects.size(), 1u);
}

// By themselves ranks 5 and 6 may be slow in too few steps to be suspects.
TEST_F(SlowCauseTest, RanksThatAreSlowInTheSameFewStepsAreTheirHost) {
  for (const size_t rank : {4, 5, 6}) Stall(rank, 3);
  Suspect at_times = SuspectOf(4);
  at_times.share_of_steps = 3.0 / (kSteps - kOnset);
  at_times.slow_above_seconds = kStall / 2;
  const std::vector<SlowCause> causes = GroupSuspects(trace_, roles_, profile_, {at_times});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].whole_host);
  ASSERT_EQ(causes[0].suspects.size(), 3u);
  for (const Suspect& suspect : causes[0].suspects) EXPECT_TRUE(suspect.in_some_steps());

  for (const size_t rank : {5, 6}) {
    for (size_t step = kOnset; step < kSteps; ++step) profile_.excess[rank * kSteps + step] = 0;
    for (size_t step = kSteps - 3; step < kSteps; ++step) profile_.excess[rank * kSteps + step] = kStall;
  }
  EXPECT_FALSE(GroupSuspects(trace_, roles_, profile_, {at_times})[0].whole_host) << "in other steps";
  for (const size_t rank : {5, 6}) {
    for (size_t step = kOnset; step < kOnset + 2; ++step) profile_.excess[rank * kSteps + step] = kStall;
  }
  EXPECT_FALSE(GroupSuspects(trace_, roles_, profile_, {at_times})[0].whole_host) << "in two of the three";
}

TEST_F(SlowCauseTest, OnsetsThatLostRecordsMayHideAreOfOneEvent) {
  SlowCause early{.suspects = {SuspectOf(0)}};
  SlowCause late{.suspects = {SuspectOf(4)}};
  late.suspects[0].first_step += 3;
  EXPECT_FALSE(AreOfOneEvent(early, late));
  late.suspects[0].unknown_before = 2;
  EXPECT_TRUE(AreOfOneEvent(early, late));
  EXPECT_TRUE(AreOfOneEvent(late, early));
}

}  // namespace
}  // namespace lockstep
