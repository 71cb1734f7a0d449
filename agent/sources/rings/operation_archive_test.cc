#include "agent/sources/rings/operation_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::OperationBatch Batch(int operations) {
  wire::OperationBatch batch;
  for (int i = 0; i < operations; ++i) batch.add_kinds(wire::OPERATION_KIND_ALL_REDUCE);
  return batch;
}

OperationArchive::Owner Owner(int32_t rank, uint64_t communicator) { return {"job", rank, 5, communicator}; }

std::vector<int> PulledRanks(const OperationArchive& archive, const wire::PullOperations& request,
                             const std::string& job = "job") {
  wire::CommandResult result;
  archive.Pull({job}, request, 1000, result);
  std::vector<int> ranks;
  for (const wire::PulledOperations& pulled : result.pulled()) ranks.push_back(pulled.rank());
  return ranks;
}

TEST(OperationArchiveTest, AnswersWithWhatWasAskedForOldestFirst) {
  OperationArchive archive;
  archive.Add(Owner(0, 1), Batch(2), 100);
  archive.Add(Owner(1, 1), Batch(2), 200);
  archive.Add(Owner(1, 2), Batch(2), 900);
  archive.Add(Owner(2, 2), Batch(0), 950);  // nothing to keep
  wire::PullOperations all;
  all.set_newest_ns(1000);
  EXPECT_THAT(PulledRanks(archive, all), ElementsAre(0, 1, 1));
  EXPECT_THAT(PulledRanks(archive, all, "other job"), IsEmpty());

  wire::PullOperations recent = all;
  recent.set_newest_ns(800);
  EXPECT_THAT(PulledRanks(archive, recent), ElementsAre(1, 1));
  wire::PullOperations of_rank = all;
  of_rank.add_ranks(0);
  EXPECT_THAT(PulledRanks(archive, of_rank), ElementsAre(0));
  wire::PullOperations of_communicator = all;
  of_communicator.add_communicators(2);
  EXPECT_THAT(PulledRanks(archive, of_communicator), ElementsAre(1));
}

TEST(OperationArchiveTest, TheNewestFitIntoAnAnswerAndTheRestIsCounted) {
  OperationArchive archive;
  for (int rank = 0; rank < 4; ++rank) archive.Add(Owner(rank, 1), Batch(100), 10 * rank);
  wire::PullOperations request;
  request.set_newest_ns(1000);
  request.set_max_bytes(2 * (Batch(100).ByteSizeLong() + OperationArchive::kBatchBytes));
  wire::CommandResult result;
  archive.Pull({"job"}, request, 1000, result);
  EXPECT_LE(result.ByteSizeLong(), request.max_bytes());
  ASSERT_EQ(result.pulled_size(), 2);
  EXPECT_EQ(result.pulled(0).rank(), 2);
  EXPECT_EQ(result.pulled(0).operations().kinds_size(), 100);
  EXPECT_EQ(result.left_out(), 200u);
}

TEST(OperationArchiveTest, IsBoundedAndCountsWhatItThrowsAway) {
  OperationArchive archive(/*max_bytes=*/2000);
  for (int i = 0; i < 100; ++i) archive.Add(Owner(i, 1), Batch(50), i);
  EXPECT_LE(archive.bytes(), 2000u);
  EXPECT_GT(archive.bytes(), 1000u);
  wire::PullOperations request;
  request.set_newest_ns(1000);
  const std::vector<int> held = PulledRanks(archive, request);
  EXPECT_EQ(held.back(), 99);
  EXPECT_EQ(archive.thrown_away(), 50 * (100 - held.size()));
}

TEST(OperationArchiveTest, AUserPushesOutNothingButHisOwn) {
  OperationArchive archive(/*max_bytes=*/2000);
  archive.Add(Owner(1000, 1), Batch(50), 1);
  OperationArchive::Owner flood = Owner(0, 1);
  flood.user = 7;
  for (flood.rank = 0; flood.rank < 100; ++flood.rank) archive.Add(flood, Batch(50), 2);
  EXPECT_LE(archive.bytes(), 2000u);
  wire::PullOperations request;
  request.set_newest_ns(1000);
  request.add_ranks(1000);
  EXPECT_THAT(PulledRanks(archive, request), ElementsAre(1000));
}

}  // namespace
}  // namespace lockstep
