#include "detector/network/transfer_stall.h"

#include <vector>

#include "detector/network/transfer_table.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kSteps = 10;
constexpr double kUsualSeconds = 1;
constexpr size_t kLongStep = 4;
constexpr double kLonger = 2;

// A rank per host, so that host and rank numbers are the same.
class TransferStallTest : public testing::Test {
 protected:
  TransferStallTest() {
    table_.steps = kSteps;
    steps_.steps = kSteps;
    steps_.usual_seconds = kUsualSeconds;
    steps_.usual_spread_seconds = 0.01;
    steps_.step_seconds.assign(kSteps, kUsualSeconds);
    steps_.step_seconds[kLongStep] = kUsualSeconds + kLonger;
    for (int32_t host = 0; host < 8; ++host) host_of_.push_back(host);
  }

  void AddPath(std::vector<int32_t> ranks, bool stalls) {
    const bool pair = ranks.size() == 2;
    const auto channel = static_cast<int32_t>(table_.paths.size());
    table_.paths.push_back({.ranks = std::move(ranks),
                            .channel = channel,
                            .point_to_point = pair,
                            .crosses_hosts = true,
                            .sees_all = true});
    for (size_t step = 0; step < kSteps; ++step) {
      table_.longer_seconds.push_back(stalls && step == kLongStep ? static_cast<float>(kLonger) : 0.001F);
    }
  }

  // `explained`: channels.
  TransferStall Find(const std::vector<int32_t>& explained = {}) const {
    return FindTransferStall(table_, steps_, host_of_, explained, 0.03);
  }

  TransferTable table_;
  StepTable steps_;
  std::vector<int32_t> host_of_;
};

TEST_F(TransferStallTest, NamesTheHostsThatAllStalledTransfersTouch) {
  // Stages 0-1, 2-3, 4-5, 6-7 of two pipelines: what enters and leaves hosts 2 and 3 stands still.
  for (const int32_t lane : {0, 1}) {
    AddPath({lane, 2 + lane}, true);
    AddPath({2 + lane, 4 + lane}, true);
    AddPath({4 + lane, 6 + lane}, false);
  }
  const TransferStall stall = Find();
  EXPECT_EQ(stall.steps, 1);
  EXPECT_EQ(stall.first_step, static_cast<int64_t>(kLongStep));
  EXPECT_TRUE(stall.told_apart);
  EXPECT_EQ(stall.hosts, (std::vector<int32_t>{2, 3}));
  EXPECT_NEAR(stall.share, kLonger / (kLonger + 6 * kUsualSeconds), 1e-9);
}

TEST_F(TransferStallTest, NamesBothEndsWhereNothingTellsThemApart) {
  AddPath({0, 2}, true);
  AddPath({1, 3}, true);
  AddPath({2, 4}, false);
  const TransferStall stall = Find();
  EXPECT_FALSE(stall.told_apart);
  EXPECT_EQ(stall.hosts, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(TransferStallTest, WhatOneDirectionOfAnAdapterStalledIsToldAsThat) {
  for (const int32_t to : {1, 2, 3}) AddPath({0, to}, true);
  for (const int32_t from : {1, 2, 3}) AddPath({from, 0}, false);
  AddPath({1, 2}, false);
  const TransferStall stall = Find();
  EXPECT_TRUE(stall.told_apart);
  EXPECT_EQ(stall.hosts, std::vector<int32_t>{0});
  EXPECT_EQ(stall.kind, PathCauseKind::kSend);
}

// What an adapter loses in a burst is lost by what passes then; the gradients are reduced later.
TEST_F(TransferStallTest, CollectivesThatWentWellSayNothingOfTransfersThatStalled) {
  for (const int32_t from : {1, 3}) AddPath({from, 2}, true);
  for (const int32_t to : {1, 3}) AddPath({2, to}, false);
  AddPath({0, 1, 2, 3}, false);
  AddPath({2, 4, 5, 6}, false);
  AddPath({1, 2, 3, 7}, false);
  const TransferStall stall = Find();
  EXPECT_TRUE(stall.told_apart);
  EXPECT_EQ(stall.hosts, std::vector<int32_t>{2});
  EXPECT_EQ(stall.kind, PathCauseKind::kReceive);
}

TEST_F(TransferStallTest, AMemberWhoseBeginsAreNotSeenMayHaveBeenLate) {
  AddPath({1, 3, 5, 7}, true);
  table_.paths.back().sees_all = false;
  EXPECT_EQ(Find().steps, 0);
}

TEST_F(TransferStallTest, NamesAllMembersOfAGroupThatStalled) {
  AddPath({1, 3, 5}, true);
  const TransferStall stall = Find();
  EXPECT_FALSE(stall.told_apart);
  EXPECT_EQ(stall.hosts, (std::vector<int32_t>{1, 3, 5}));
}

TEST_F(TransferStallTest, ALongStepWithUsualTransfersIsNoStall) {
  AddPath({0, 2}, false);
  EXPECT_EQ(Find().steps, 0);
}

TEST_F(TransferStallTest, ATransferThatAlwaysTakesLongStalledNowhere) {
  AddPath({0, 2}, true);
  for (float& seconds : table_.longer_seconds) seconds = static_cast<float>(kLonger);
  EXPECT_EQ(Find().steps, 0);
}

TEST_F(TransferStallTest, WhatCostsLittleIsNotTold) {
  AddPath({0, 2}, true);
  steps_.step_seconds[kLongStep] = kUsualSeconds * 1.15;
  EXPECT_EQ(Find().steps, 0);
}

TEST_F(TransferStallTest, WhatASlowLinkExplainsIsNoStall) {
  AddPath({0, 1}, true);
  AddPath({2, 3}, false);
  EXPECT_EQ(Find().steps, 1);
  EXPECT_EQ(Find({0}).steps, 0);
}

}  // namespace
}  // namespace lockstep
