#include "detector/engine/search_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/engine/investigation.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/testing/scouted_job.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMs = kNanosPerMilli;

TEST(SearchPlanTest, ReplicasAreUnitsAndDataGroupsAreScouted) {
  const ScoutedJob job = {.replicas = 16};
  const SearchPlan plan = PlanSearch(job.MakeRoster(), {});
  EXPECT_EQ(plan.units, 16);
  for (int32_t rank = 0; rank < job.ranks(); ++rank) EXPECT_EQ(plan.unit_of[static_cast<size_t>(rank)], rank / 8);
  EXPECT_THAT(plan.scouted, ElementsAre(3000, 3001, 3002, 3003, 3004, 3005, 3006, 3007));
}

TEST(SearchPlanTest, AJobOfOneGroupHasNothingToScout) {
  Roster roster({});
  for (int32_t rank = 0; rank < 64; ++rank) {
    RankView view;
    view.rank = rank;
    view.world_size = 64;
    view.process_start_ticks = 5;
    roster.Update(roster.TouchHost("node", kSecond), view, kSecond, 0);
    roster.Join(rank, {.id = 1, .size = 64, .communicator_rank = rank, .finished = 10});
  }
  EXPECT_THAT(PlanSearch(roster, {}).scouted, IsEmpty());
}

TEST(SearchPlanTest, TheUnitThatKeepsOthersWaitingIsChosenWithPeers) {
  const ScoutedJob job = {.replicas = 16};
  const Roster roster = job.MakeRoster();
  const SearchPlan plan = PlanSearch(roster, {});
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto late = static_cast<int32_t>(seed % 16);
    const std::vector<int32_t> order = OrderUnits(roster, plan, job.Scouted(late, seed, 30 * kMs)).units;
    EXPECT_THAT(LatestUnit(plan, order), SizeIs(8));
    EXPECT_EQ(plan.unit_of[static_cast<size_t>(LatestUnit(plan, order)[0])], late);
    const std::vector<int32_t> chosen = SuspectsAndPeers(plan, order);
    EXPECT_THAT(chosen, SizeIs(5 * 8));
    for (int32_t rank = 8 * late; rank < 8 * (late + 1); ++rank) {
      EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), rank)) << seed;
    }
  }
}

// A host whose input comes late keeps its own groups waiting; when they go on, nobody is ahead any more.
TEST(SearchPlanTest, AUnitThatIsLateInOneOfItsGroupsIsTheLatest) {
  const ScoutedJob job = {.replicas = 16};
  const Roster roster = job.MakeRoster();
  const SearchPlan plan = PlanSearch(roster, {});
  std::vector<PulledOperations> scouted = job.Scouted(-1, 1, 10 * kMs);
  for (PulledOperations& batch : scouted) {
    if (batch.rank % 8 != 3 || batch.rank / 8 == 11) continue;
    for (Operation& operation : batch.operations) operation.end_ns += 40 * kMs;
  }
  const UnitOrder order = OrderUnits(roster, plan, scouted);
  EXPECT_EQ(plan.unit_of[static_cast<size_t>(LatestUnit(plan, order.units)[0])], 11);
  EXPECT_NEAR(order.latest_seconds, 0.04, 0.01);
}

// Inside four replicas of a job, a replica is still a unit and the others are not in question.
TEST(SearchPlanTest, APlanInsideAScopeKnowsOnlyItsRanks) {
  const ScoutedJob job = {.replicas = 16};
  const Roster roster = job.MakeRoster();
  std::vector<int32_t> scope(32);
  std::iota(scope.begin(), scope.end(), 64);
  const SearchPlan plan = PlanSearch(roster, scope);
  EXPECT_EQ(plan.units, 4);
  EXPECT_EQ(plan.unit_of[63], -1);
  EXPECT_GE(plan.unit_of[64], 0);
  EXPECT_THAT(plan.scouted, SizeIs(8));
  EXPECT_NEAR(OperationsPerSecond(job.MakeRoster(300), scope), 300 * 32, 1);
  const std::vector<int32_t> order = OrderUnits(roster, plan, job.Scouted(10, 1)).units;
  EXPECT_EQ(LatestUnit(plan, order).front(), 80);
}

TEST(SearchPlanTest, WithoutOperationsNothingIsChosen) {
  const ScoutedJob job = {.replicas = 16};
  const Roster roster = job.MakeRoster();
  const SearchPlan plan = PlanSearch(roster, {});
  EXPECT_THAT(OrderUnits(roster, plan, {}).units, IsEmpty());
  EXPECT_THAT(SuspectsAndPeers(plan, {0, 1}), IsEmpty());  // two units: nobody is a peer
  // Of each operation only a few members are known.
  std::vector<PulledOperations> few = job.Scouted(3, 1);
  few.resize(few.size() / 4);
  EXPECT_THAT(OrderUnits(roster, plan, few).units, IsEmpty());
}

TEST(SearchPlanTest, ABusyJobIsAskedInTwoPartsAQuietOneAtOnce) {
  const ScoutedJob job = {.replicas = 16};
  EXPECT_NEAR(OperationsPerSecond(job.MakeRoster(300), {}), 300 * 128, 1);
  Investigation quiet({});
  const std::vector<PullRequest> all = quiet.Begin(job.MakeRoster(100), 100 * kSecond, 16 * kSecond);
  ASSERT_THAT(all, SizeIs(32));
  EXPECT_THAT(all, Each(Field(&PullRequest::communicators, IsEmpty())));

  const Roster roster = job.MakeRoster(2'000);
  Investigation busy({});
  const std::vector<PullRequest> scout = busy.Begin(roster, 100 * kSecond, 16 * kSecond);
  ASSERT_THAT(scout, SizeIs(32));
  EXPECT_THAT(scout, Each(Field(&PullRequest::communicators, SizeIs(4))));  // its own
  uint64_t bytes = 0;
  const std::vector<PulledOperations> scouted = job.Scouted(7, 1);
  for (const PullRequest& request : scout) {
    bytes += request.max_bytes;
    HostReport report{.host = request.host};
    PullAnswer& answer = report.answers.emplace_back(PullAnswer{.request = request.id, .done = true});
    for (const PulledOperations& batch : scouted) {
      if (absl::StrCat("node-", batch.rank / 4) == request.host) answer.pulled.push_back(batch);
    }
    busy.Observe(report);
  }
  const std::vector<PullRequest> chosen = busy.Advance(roster, 101 * kSecond);
  ASSERT_THAT(chosen, SizeIs(10));
  EXPECT_THAT(chosen, Each(Field(&PullRequest::communicators, IsEmpty())));
  EXPECT_THAT(chosen, Each(Field(&PullRequest::ranks, SizeIs(4))));
  const auto has = [&](const std::string& host) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const PullRequest& request) { return request.host == host; });
  };
  EXPECT_TRUE(has("node-14"));
  EXPECT_TRUE(has("node-15"));
  // Of what was kept for scouting, they get what it did not need.
  EXPECT_LE(bytes, InvestigationOptions().scout_share * InvestigationOptions().max_bytes);
  uint64_t more = 0;
  for (const PullRequest& request : chosen) more += request.max_bytes;
  EXPECT_GT(bytes + more, InvestigationOptions().max_bytes);
  EXPECT_LE(more + 20 * 10 * static_cast<uint64_t>(job.ranks()), InvestigationOptions().max_bytes);
  EXPECT_EQ(busy.rounds(), 0u);
}

}  // namespace
}  // namespace lockstep
