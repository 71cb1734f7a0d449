#include "collector/demands/demand_targets.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "collector/demands/demand_book.h"
#include "collector/job_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The job "job": eight ranks on each host, of which the processes in `gone` have ended.
// `of_stage`: so many ranks after each other have one duty; 0 = nobody's duty is known.
std::vector<std::shared_ptr<const JobsSnapshot>> Snapshots(int hosts, const std::vector<int>& gone = {},
                                                           int of_stage = 0) {
  auto ranks = std::make_shared<std::vector<wire::Rank>>();
  for (int number = 0; number < 8 * hosts; ++number) {
    wire::Rank& rank = ranks->emplace_back();
    rank.set_rank(number);
    rank.set_local_rank(number % 8);
    rank.set_host(absl::StrCat("node-", number / 8));
    rank.set_pid(1000 + number);
    if (of_stage > 0) rank.set_duty(1 + number / of_stage);
  }
  for (const int number : gone) (*ranks)[static_cast<size_t>(number)].set_process_state("gone");
  auto snapshot = std::make_shared<JobsSnapshot>();
  snapshot->ranks["job"] = ranks;
  return {std::make_shared<const JobsSnapshot>(), snapshot};
}

std::vector<int> RanksOf(const absl::StatusOr<DemandTargets>& found) {
  std::vector<int> ranks;
  EXPECT_OK(found);
  if (found.ok()) {
    for (const DemandTarget& target : found->targets) ranks.push_back(target.rank);
  }
  return ranks;
}

TEST(DemandTargetsTest, NamedRanksOrAllThatLive) {
  EXPECT_THAT(RanksOf(FindDemandTargets(Snapshots(1), "job", {5, 2}, 64)), ElementsAre(2, 5));
  EXPECT_THAT(RanksOf(FindDemandTargets(Snapshots(1, {3}), "job", {}, 4)), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(FindDemandTargets(Snapshots(1), "job", {8}, 64),
              StatusIs(absl::StatusCode::kNotFound, "job job has no rank 8"));
  EXPECT_THAT(FindDemandTargets(Snapshots(1), "other", {}, 64), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(DemandTargetsTest, PeersAreOfTheSameLocalRankAndFromEverywhere) {
  const auto of_four = Snapshots(4, {10});
  EXPECT_THAT(RanksOf(FindCompared(of_four, "job", {2}, 3, 64)), ElementsAre(2, 18, 26, 0)) << "rank 10 is gone";
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(32), "job", {2}, 4, 64)), ElementsAre(2, 10, 66, 130, 194));
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(32), "job", {2}, 4, 3)), ElementsAre(2, 10, 130)) << "no room for more";
}

TEST(DemandTargetsTest, PeersAreOfTheSameDutyWhereItIsKnown) {
  const auto two_stages = Snapshots(4, {10}, /*of_stage=*/16);
  EXPECT_THAT(RanksOf(FindCompared(two_stages, "job", {2}, 3, 64)), ElementsAre(2, 0, 5, 11))
      << "rank 18 and 26 have its local rank and another duty";
  const absl::StatusOr<DemandTargets> of_both = FindCompared(two_stages, "job", {2, 18}, 16, 64);
  EXPECT_THAT(RanksOf(of_both), SizeIs(18));
  for (const DemandTarget& target : of_both->targets) EXPECT_EQ(target.duty, target.rank < 16 ? 0 : 1);
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(1, {}, /*of_stage=*/1), "job", {2}, 3, 64)), ElementsAre(2, 0, 3, 5))
      << "nobody shares its duty";
}

TEST(DemandTargetsTest, WithoutSuspectsPeersAreTakenFromEverywhere) {
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(2), "job", {}, 4, 64)), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(1), "job", {}, 16, 64)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(RanksOf(FindCompared(Snapshots(0), "job", {}, 16, 64)), IsEmpty());
  EXPECT_THAT(FindCompared(Snapshots(1), "job", {9}, 16, 64), StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace lockstep
