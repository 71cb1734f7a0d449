#include "sim/stage_writer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "gtest/gtest.h"
#include "sim/layout.h"
#include "sim/plan.h"

namespace lockstep {
namespace {

std::vector<InstructionKind> KindsOf(const StageProgram& program) {
  std::vector<InstructionKind> kinds;
  for (const Instruction& instruction : program.instructions) kinds.push_back(instruction.kind);
  return kinds;
}

TEST(StageWriterTest, InstructionsStandInTheOrderOfTheCalls) {
  StageProgram program;
  StageWriter writer(true, &program);
  writer.AwaitInput();
  writer.Compute(1000, 3, true);
  writer.Join(GroupKind::kWorld, OperationKind::kBarrier, 64);
  writer.Sync();
  EXPECT_EQ(KindsOf(program), (std::vector<InstructionKind>{InstructionKind::kInput, InstructionKind::kCompute,
                                                            InstructionKind::kJoinCollective, InstructionKind::kAwait,
                                                            InstructionKind::kSync}));
  EXPECT_EQ(program.instructions[1].base_ns, 1000);
  EXPECT_EQ(program.instructions[1].microbatch, 3);
  EXPECT_TRUE(program.instructions[1].of_experts);
  EXPECT_EQ(program.instructions[3].handle, program.instructions[2].handle);
}

TEST(StageWriterTest, OperationsAreNumberedPerKindOfGroupAndRecordsOverAll) {
  StageProgram program;
  StageWriter writer(true, &program);
  for (int i = 0; i < 2; ++i) {
    writer.Collective(GroupKind::kTensor, OperationKind::kAllReduce, 10);
    writer.Collective(GroupKind::kData, OperationKind::kAllGather, 20);
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(program.instructions[i].index_in_kind, static_cast<int32_t>(i / 2));
    EXPECT_EQ(program.instructions[i].record, static_cast<int32_t>(i));
    EXPECT_EQ(program.instructions[i].handle, -1) << "the compute waits at once";
  }
  EXPECT_EQ(program.operations_of_kind[static_cast<size_t>(GroupKind::kTensor)], 2);
  EXPECT_EQ(program.records, 4);
}

TEST(StageWriterTest, InnerGroupsMayLeaveNoRecordAndAreCountedAllTheSame) {
  StageProgram program;
  StageWriter writer(false, &program);
  for (const GroupKind group : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kExpert}) {
    writer.Collective(group, OperationKind::kAllReduce, 10);
    EXPECT_EQ(program.instructions.back().record, -1);
    EXPECT_EQ(program.operations_of_kind[static_cast<size_t>(group)], 1);
  }
  writer.Collective(GroupKind::kData, OperationKind::kAllReduce, 10);
  EXPECT_EQ(program.instructions.back().record, 0);
}

TEST(StageWriterTest, WhatRunsBesideTheComputeHasAHandleToWaitFor) {
  StageProgram program;
  StageWriter writer(true, &program);
  const int32_t first = writer.OverlappedCollective(GroupKind::kData, OperationKind::kReduceScatter, 10);
  const int32_t second = writer.OverlappedCollective(GroupKind::kData, OperationKind::kReduceScatter, 10);
  EXPECT_NE(first, second);
  EXPECT_TRUE(program.instructions[1].overlapped);
  EXPECT_EQ(program.instructions[1].handle, second);
  writer.Await(first);
  writer.Await(-1);
  ASSERT_EQ(program.instructions.size(), 3u) << "for -1 nobody waits";
  EXPECT_EQ(program.instructions[2].handle, first);
  EXPECT_EQ(program.handles, 2);
  EXPECT_EQ(program.transfer_groups.size(), 2u) << "by handle";
}

TEST(StageWriterTest, TransfersOfAGroupTakeTheNextRecords) {
  StageProgram program;
  StageWriter writer(true, &program);
  writer.Collective(GroupKind::kData, OperationKind::kAllReduce, 10);
  const int32_t first = writer.OpenTransfers(-1, 100);
  EXPECT_EQ(writer.AddTransfer(first, 7), 1);
  EXPECT_EQ(writer.AddTransfer(first, 9), 2);
  const int32_t second = writer.OpenTransfers(first, 100);
  EXPECT_EQ(program.instructions[1].record, 1);
  EXPECT_EQ(program.instructions[1].bytes, 100u);
  EXPECT_EQ(program.instructions[2].record, 3);
  EXPECT_EQ(program.transfer_groups[static_cast<size_t>(first)].transfers, (std::vector<int32_t>{7, 9}));
  EXPECT_EQ(program.transfer_groups[static_cast<size_t>(first)].previous_on_stream, -1);
  EXPECT_EQ(program.transfer_groups[static_cast<size_t>(second)].previous_on_stream, first);
}

}  // namespace
}  // namespace lockstep
