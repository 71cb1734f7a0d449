#include "detector/engine/slow_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/engine/investigation.h"
#include "detector/engine/search_plan.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/testing/scouted_job.h"

namespace lockstep {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int32_t kReplicas = 16;
constexpr int32_t kSlowGroup = 6;  // tensor index 2 of the second stage

SlowGroup Find(const ScoutedJob& job, const std::vector<PulledOperations>& scouted) {
  const Roster roster = job.MakeRoster();
  return FindSlowGroup(roster, PlanSearch(roster, {}), scouted);
}

TEST(SlowGroupTest, IsAskedTogetherWithTheOtherEndsOfItsPipelines) {
  const ScoutedJob job = {.replicas = kReplicas, .slow_group = kSlowGroup};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    // Whoever is late makes others wait, and no transfer longer.
    const SlowGroup group = Find(job, job.Scouted(static_cast<int32_t>(seed % kReplicas), seed));
    EXPECT_NEAR(group.excess_seconds, 0.015, 0.001);
    ASSERT_THAT(group.ranks, SizeIs(2 * kReplicas));
    for (const int32_t rank : group.ranks) EXPECT_EQ(rank % 4, kSlowGroup % 4);
  }
}

TEST(SlowGroupTest, IsNoneWhereOnlyUnitsAreLate) {
  const ScoutedJob job = {.replicas = kReplicas};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_THAT(Find(job, job.Scouted(3, seed)).ranks, IsEmpty());
    EXPECT_THAT(Find(job, job.Scouted(-1, seed)).ranks, IsEmpty());
  }
}

TEST(SlowGroupTest, WhatFewMembersSaidTellsNothing) {
  const ScoutedJob job = {.replicas = kReplicas, .slow_group = kSlowGroup};
  std::vector<PulledOperations> few = job.Scouted(-1, 1);
  few.resize(few.size() / 2);
  EXPECT_THAT(Find(job, few).ranks, IsEmpty());
}

// The hosts that are asked in the second part of a round.
std::set<std::string> AskedAfterScouting(const ScoutedJob& job, int32_t late) {
  const Roster roster = job.MakeRoster(2'000);
  Investigation investigation({});
  const std::vector<PulledOperations> scouted = job.Scouted(late, 1);
  for (const PullRequest& request : investigation.Begin(roster, 100 * kNanosPerSecond, 16 * kNanosPerSecond)) {
    HostReport report{.host = request.host};
    PullAnswer& answer = report.answers.emplace_back(PullAnswer{.request = request.id, .done = true});
    for (const PulledOperations& batch : scouted) {
      if (absl::StrCat("node-", batch.rank / 4) == request.host) answer.pulled.push_back(batch);
    }
    investigation.Observe(report);
  }
  std::set<std::string> hosts;
  for (const PullRequest& request : investigation.Advance(roster, 101 * kNanosPerSecond)) {
    hosts.insert(request.host);
    EXPECT_THAT(request.ranks, SizeIs(late < 0 ? 1 : 4));
  }
  return hosts;
}

TEST(SlowGroupTest, TheDearerOfASlowGroupAndALateUnitIsLookedAt) {
  const ScoutedJob job = {.replicas = kReplicas, .slow_group = kSlowGroup};
  EXPECT_THAT(AskedAfterScouting(job, /*late=*/-1), SizeIs(2 * kReplicas));
  // 50 ms against 15: the unit of two hosts, the next one and three others.
  EXPECT_THAT(AskedAfterScouting(job, /*late=*/5), SizeIs(2 * 5));
}

}  // namespace
}  // namespace lockstep
