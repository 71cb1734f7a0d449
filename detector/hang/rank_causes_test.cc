#include "detector/hang/rank_causes.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/member_table.h"
#include "detector/hang/wait_graph.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 4;

// Four ranks in two communicators of all of them; blocked operations are nodes 4, 5, ...
class RankCausesTest : public testing::Test {
 protected:
  RankCausesTest() {
    trace_.ranks.resize(kRanks);
    trace_.first_operation.assign(kRanks + 1, 0);
    trace_.communicators.assign(2, {.members = {0, 1, 2, 3}});
    trace_.operations.resize(1);
    content_.collectives.assign(2 * kRanks, {});
    content_.entered_by_all.assign(2, -1);
    content_.first_open.assign(kRanks + 1, 0);
    content_.tells_begun.assign(kRanks, 1);
    content_.cut_short.assign(kRanks, 0);
    graph_.edges.resize(kRanks);
    graph_.not_begun.assign(kRanks, 0);
    graph_.left_behind.assign(kRanks, 0);
    graph_.place_lost.assign(kRanks, 0);
  }

  // An operation in which `at` stand and that `missing` keep from ending.
  void Block(int32_t communicator, std::vector<int32_t> at, const std::vector<int32_t>& missing,
             MemberState state = MemberState::kNotCalled) {
    for (const int32_t rank : at) {
      graph_.edges[static_cast<size_t>(rank)].push_back(static_cast<int32_t>(graph_.edges.size()));
    }
    graph_.edges.push_back(missing);
    graph_.member_states.emplace_back(missing.size(), state);
    graph_.blocked_operations.push_back(
        {.communicator = communicator, .sequence = 7, .at = std::move(at), .operations = {0}});
  }

  RankCauses Find() { return FindRankCauses(Frontier(trace_, MemberTable(trace_), content_), graph_); }

  Trace trace_;
  Frontier::Content content_;
  WaitGraph graph_;
};

TEST_F(RankCausesTest, ThoseThatOneOperationWaitsForAreOneCause) {
  Block(0, {0, 3}, {1, 2});
  const RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_EQ(found.hangs[0].kind, HangKind::kNotEntered);
  EXPECT_EQ(found.hangs[0].ranks, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(found.hangs[0].communicator, 0);
  EXPECT_EQ(found.hangs[0].waiting, 2);
  EXPECT_FALSE(found.hangs[0].called);
  EXPECT_TRUE(found.uncalled.empty());
}

TEST_F(RankCausesTest, OfSeveralOperationsTheOneInWhichMostWaitIsTold) {
  Block(0, {0}, {2});
  Block(1, {1, 3}, {2});
  const RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_EQ(found.hangs[0].ranks, std::vector<int32_t>{2});
  EXPECT_EQ(found.hangs[0].communicator, 1);
}

TEST_F(RankCausesTest, CausesThatTurnOutToShareARankAreOne) {
  Block(0, {0}, {1});
  Block(1, {0}, {2});
  Block(1, {0}, {1, 2});
  const RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_EQ(found.hangs[0].ranks, (std::vector<int32_t>{1, 2}));
}

TEST_F(RankCausesTest, WhoWaitsForOthersOrStandsNobodyKnowsWhereIsNone) {
  Block(0, {0}, {1, 3});
  Block(1, {1}, {2});
  graph_.place_lost[3] = 1;
  const RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_EQ(found.hangs[0].ranks, std::vector<int32_t>{2});
}

TEST_F(RankCausesTest, WhatWasCalledBehindSomethingElseSaysNothing) {
  Block(0, {0}, {1}, MemberState::kQueued);
  EXPECT_TRUE(Find().hangs.empty());
}

TEST_F(RankCausesTest, AGpuThatHasNotBegunWhatItsHostCalledIsToldFromAProcessThatStopped) {
  Block(0, {0, 2, 3}, {1}, MemberState::kNotBegun);
  RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_TRUE(found.hangs[0].called);
  EXPECT_FALSE(found.hangs[0].stopped_calling);
  for (size_t rank : {0u, 2u, 3u}) content_.collectives[rank].entered = 20;
  content_.collectives[1].entered = 7;
  found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_TRUE(found.hangs[0].stopped_calling);
}

TEST_F(RankCausesTest, WhereRecordsAreLostAGpuThatHasBegunNothingIsToldApart) {
  Block(0, {0, 3}, {1, 2});
  graph_.not_begun[1] = 1;
  EXPECT_EQ(Find().hangs[0].ranks, (std::vector<int32_t>{1, 2}));
  content_.lost_share = 0.01;
  const RankCauses found = Find();
  ASSERT_EQ(found.hangs.size(), 1u);
  EXPECT_EQ(found.hangs[0].ranks, std::vector<int32_t>{2});
  ASSERT_EQ(found.uncalled.size(), 1u);
  EXPECT_EQ(found.uncalled[0].ranks, std::vector<int32_t>{1});
}

TEST_F(RankCausesTest, AFewThatOthersLeftBehindAreACauseAndMostOfThemATransfer) {
  content_.left_by_record = {7, 7};
  for (const std::vector<int32_t>& at : {std::vector<int32_t>{1, 2}, std::vector<int32_t>{1, 2, 3}}) {
    graph_.blocked_operations.clear();
    graph_.edges.resize(kRanks);
    Block(0, at, {});
    graph_.blocked_operations[0].finished_by_some = true;
    for (const int32_t rank : at) graph_.left_behind[static_cast<size_t>(rank)] = 1;
    const RankCauses found = Find();
    ASSERT_EQ(found.hangs.size(), 1u);
    EXPECT_EQ(found.hangs[0].kind, at.size() == 2 ? HangKind::kNotFinished : HangKind::kTransfer);
    EXPECT_EQ(found.hangs[0].ranks, at);
    EXPECT_EQ(found.hangs[0].doubt, Doubt::kNone) << "a record shows the end";
  }
}

}  // namespace
}  // namespace lockstep
