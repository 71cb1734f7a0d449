#include "detector/model/pipelines.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "detector/model/operation_instances.h"
#include "detector/model/operation_mix.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Sends = std::vector<std::pair<int32_t, int32_t>>;  // communicator ranks

class PipelinesTest : public testing::Test {
 protected:
  PipelinesTest() { trace_.ranks.resize(4); }

  void AddSenders(std::vector<int32_t> members, const Sends& sends) {
    const auto communicator = static_cast<int32_t>(trace_.communicators.size());
    for (const auto& [source, destination] : sends) {
      matched_.channels.push_back({.communicator = communicator, .source = source, .destination = destination});
    }
    AddGroup(std::move(members), {.sends = 2 * sends.size()});
  }

  void AddGroup(std::vector<int32_t> members, const OperationMix& mix) {
    trace_.communicators.push_back({.members = std::move(members)});
    mixes_.push_back(mix);
  }

  Pipelines Find() const { return FindPipelines(trace_, matched_, mixes_); }

  Trace trace_;
  OperationInstances matched_;
  std::vector<OperationMix> mixes_;
};

TEST_F(PipelinesTest, StagesThatSendToTheNextAreOnePipelineWhicheverWay) {
  AddSenders({2, 1, 3}, {{0, 1}, {1, 0}, {1, 2}, {2, 1}});
  const Pipelines found = Find();
  EXPECT_TRUE(found.any);
  EXPECT_EQ(found.of_rank, (std::vector<int32_t>{-1, 1, 1, 1}));
  EXPECT_EQ(found.equal_senders, std::vector<char>{0});
}

TEST_F(PipelinesTest, APairPerNeighbourIsEnough) {
  AddSenders({0, 2}, {{0, 1}});
  AddSenders({1, 3}, {{0, 1}});
  EXPECT_EQ(Find().of_rank, (std::vector<int32_t>{0, 1, 0, 1}));
}

TEST_F(PipelinesTest, WhoSendsToManyIsNoStage) {
  AddSenders({0, 1, 2, 3}, {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {1, 3}, {2, 3}, {3, 2}});
  const Pipelines found = Find();
  EXPECT_FALSE(found.any);
  EXPECT_EQ(found.of_rank, (std::vector<int32_t>{-1, -1, -1, -1}));
}

TEST_F(PipelinesTest, AMemberWithoutRecordsConnectsNobody) {
  AddSenders({0, -1, 2}, {{0, 1}, {1, 2}});
  EXPECT_FALSE(Find().any);
}

TEST_F(PipelinesTest, ThoseWhoReduceMuchTogetherSendToTheirEquals) {
  AddSenders({0, 1}, {{0, 1}, {1, 0}});
  AddGroup({0, 1, 2}, {.collectives = 30, .large = 3});
  const Pipelines found = Find();
  EXPECT_FALSE(found.any);
  EXPECT_EQ(found.equal_senders, (std::vector<char>{1, 0}));
}

TEST_F(PipelinesTest, AFewLargeReductionsOrThoseOfTwoThatShareAnEmbeddingMakeNoEquals) {
  AddSenders({0, 1}, {{0, 1}, {1, 0}});
  AddGroup({0, 1, 2}, {.collectives = 31, .large = 3});
  AddGroup({0, 1}, {.collectives = 30, .large = 30});
  EXPECT_EQ(Find().of_rank, (std::vector<int32_t>{0, 0, -1, -1}));
}

TEST_F(PipelinesTest, WhereOneOfThePairsIsUnequalAllAreStages) {
  AddSenders({0, 1, 3}, {{0, 1}, {1, 2}});
  AddGroup({0, 1, 2}, {.collectives = 30, .large = 30});
  EXPECT_EQ(Find().of_rank, (std::vector<int32_t>{0, 0, -1, 0}));
}

TEST_F(PipelinesTest, WhatGoesRoundARingIsAmongEquals) {
  AddSenders({0, 1, 2}, {{0, 1}, {1, 2}, {2, 0}});
  const Pipelines found = Find();
  EXPECT_FALSE(found.any);
  EXPECT_EQ(found.equal_senders, std::vector<char>{1});
}

}  // namespace
}  // namespace lockstep
