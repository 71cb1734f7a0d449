#include "sim/stage_transfers.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "sim/plan.h"
#include "sim/schedule_order.h"
#include "sim/stage_writer.h"

namespace lockstep {
namespace {

constexpr int32_t kStages = 3;

// One stage as it is written.
struct Stage {
  Stage(int32_t stage, PipelineTransfers* all) : writer(true, &program), transfers(stage, 100, &writer, all) {}

  StageProgram program;
  StageWriter writer;
  StageTransfers transfers;
};

Pass Forward(int32_t microbatch, int32_t chunk = 0) {
  return {.forward = true, .microbatch = microbatch, .chunk = chunk};
}
Pass Backward(int32_t microbatch, int32_t chunk = 0) {
  return {.forward = false, .microbatch = microbatch, .chunk = chunk};
}

TEST(StageTransfersTest, BothSidesOfACrossingAreOneTransferWhicheverIsWrittenFirst) {
  PipelineTransfers all(kStages, 1);
  Stage first(0, &all), second(1, &all);
  const int32_t back = first.transfers.Receive(Backward(5), StageTransfers::kBackwardReceive);
  const int32_t sent = first.transfers.Send(Forward(5), StageTransfers::kForwardSend);
  const int32_t received = second.transfers.Receive(Forward(5), StageTransfers::kForwardReceive);
  const int32_t returned = second.transfers.Send(Backward(5), StageTransfers::kBackwardSend);
  ASSERT_EQ(all.transfers().size(), 2u);
  const Transfer& backward = all.transfers()[0];
  EXPECT_EQ(backward.source_stage, 1);
  EXPECT_EQ(backward.source_handle, returned);
  EXPECT_EQ(backward.source_record, 1);
  EXPECT_EQ(backward.target_stage, 0);
  EXPECT_EQ(backward.target_handle, back);
  EXPECT_EQ(backward.target_record, 0);
  const Transfer& forward = all.transfers()[1];
  EXPECT_EQ(forward.source_handle, sent);
  EXPECT_EQ(forward.source_record, 1);
  EXPECT_EQ(forward.target_stage, 1);
  EXPECT_EQ(forward.target_handle, received);
  EXPECT_EQ(first.program.transfer_groups[static_cast<size_t>(sent)].transfers, std::vector<int32_t>{1});
}

TEST(StageTransfersTest, NothingComesBeforeTheFirstStageOrGoesBehindTheLast) {
  PipelineTransfers all(kStages, 1);
  Stage first(0, &all), last(2, &all);
  EXPECT_EQ(first.transfers.Receive(Forward(0), StageTransfers::kGrouped), -1);
  EXPECT_EQ(first.transfers.Send(Backward(0), StageTransfers::kGrouped), -1);
  EXPECT_EQ(last.transfers.Send(Forward(0), StageTransfers::kGrouped), -1);
  EXPECT_EQ(last.transfers.Receive(Backward(0), StageTransfers::kGrouped), -1);
  EXPECT_EQ(first.transfers.Exchange(Backward(0), Forward(1)), -1);
  EXPECT_TRUE(first.program.instructions.empty());
  EXPECT_TRUE(all.transfers().empty());
}

TEST(StageTransfersTest, WhatLeavesTheLastStageComesToTheNextChunkOfTheFirst) {
  PipelineTransfers all(kStages, 2);
  Stage first(0, &all), last(2, &all);
  EXPECT_GE(last.transfers.Send(Forward(4, 0), StageTransfers::kForwardSend), 0);
  EXPECT_GE(first.transfers.Receive(Forward(4, 1), StageTransfers::kForwardReceive), 0);
  ASSERT_EQ(all.transfers().size(), 1u);
  EXPECT_EQ(all.transfers()[0].source_stage, 2);
  EXPECT_EQ(all.transfers()[0].target_stage, 0);
  EXPECT_EQ(all.of_pair(), (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 1, 0, 0})) << "from 2 to 0";
  EXPECT_EQ(last.transfers.Send(Forward(4, 1), StageTransfers::kForwardSend), -1) << "it is the last chunk";
}

TEST(StageTransfersTest, TransfersOfAPairAreCounted) {
  PipelineTransfers all(kStages, 1);
  Stage first(0, &all);
  for (int32_t microbatch = 0; microbatch < 3; ++microbatch) {
    first.transfers.Send(Forward(microbatch), StageTransfers::kForwardSend);
    EXPECT_EQ(all.transfers().back().index_in_pair, microbatch);
  }
  EXPECT_EQ(all.of_pair()[1], 3);
}

TEST(StageTransfersTest, GroupsOfOneStreamFollowOneAnotherAndThoseOfOthersDoNot) {
  PipelineTransfers all(kStages, 1);
  Stage middle(1, &all);
  const int32_t first = middle.transfers.Send(Forward(0), StageTransfers::kForwardSend);
  const int32_t other = middle.transfers.Receive(Forward(1), StageTransfers::kForwardReceive);
  const int32_t second = middle.transfers.Send(Forward(1), StageTransfers::kForwardSend);
  const auto previous = [&](int32_t handle) {
    return middle.program.transfer_groups[static_cast<size_t>(handle)].previous_on_stream;
  };
  EXPECT_EQ(previous(first), -1);
  EXPECT_EQ(previous(other), -1);
  EXPECT_EQ(previous(second), first);
}

TEST(StageTransfersTest, WhatIsExchangedIsOneGroupWithARecordOfEach) {
  PipelineTransfers all(kStages, 1);
  Stage middle(1, &all);
  const int32_t handle = middle.transfers.Exchange(Forward(1), Backward(0));
  EXPECT_EQ(middle.program.transfer_groups[static_cast<size_t>(handle)].transfers, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(middle.program.records, 2);
  ASSERT_EQ(middle.program.instructions.size(), 1u);
  EXPECT_EQ(middle.program.instructions[0].bytes, 100u);
}

}  // namespace
}  // namespace lockstep
