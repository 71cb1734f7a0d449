#include "sim/stage_writer.h"

#include <cstddef>

namespace lockstep {

StageWriter::StageWriter(bool records_inner, StageProgram* program) : records_inner_(records_inner), program_(program) {
  program->operations_of_kind.assign(kGroupKinds, 0);
}

void StageWriter::Compute(int64_t base_ns, int32_t microbatch, bool of_experts) {
  Add({.kind = InstructionKind::kCompute, .base_ns = base_ns, .microbatch = microbatch, .of_experts = of_experts});
}

void StageWriter::Collective(GroupKind group, OperationKind operation, uint64_t bytes) {
  Add(Operation(InstructionKind::kCollective, group, operation, bytes));
}

int32_t StageWriter::OverlappedCollective(GroupKind group, OperationKind operation, uint64_t bytes) {
  Instruction instruction = Operation(InstructionKind::kCollective, group, operation, bytes);
  instruction.overlapped = true;
  instruction.handle = NewHandle();
  Add(instruction);
  return instruction.handle;
}

void StageWriter::Join(GroupKind group, OperationKind operation, uint64_t bytes) {
  Instruction instruction = Operation(InstructionKind::kJoinCollective, group, operation, bytes);
  instruction.handle = NewHandle();
  Add(instruction);
  Await(instruction.handle);
}

void StageWriter::Await(int32_t handle) {
  if (handle >= 0) Add({.kind = InstructionKind::kAwait, .handle = handle});
}

int32_t StageWriter::OpenTransfers(int32_t previous_on_stream, uint64_t bytes) {
  const int32_t handle = NewHandle();
  program_->transfer_groups[static_cast<size_t>(handle)].previous_on_stream = previous_on_stream;
  Add({.kind = InstructionKind::kTransfers,
       .operation = OperationKind::kSend,
       .group = GroupKind::kPipeline,
       .bytes = bytes,
       .handle = handle,
       .record = program_->records});
  return handle;
}

int32_t StageWriter::AddTransfer(int32_t handle, int32_t transfer) {
  program_->transfer_groups[static_cast<size_t>(handle)].transfers.push_back(transfer);
  return program_->records++;
}

int32_t StageWriter::NewHandle() {
  program_->transfer_groups.emplace_back();
  return program_->handles++;
}

bool StageWriter::IsRecorded(GroupKind group) const {
  const bool inner = group == GroupKind::kTensor || group == GroupKind::kContext || group == GroupKind::kExpert;
  return records_inner_ || !inner;
}

Instruction StageWriter::Operation(InstructionKind kind, GroupKind group, OperationKind operation, uint64_t bytes) {
  Instruction instruction{.kind = kind, .operation = operation, .group = group, .bytes = bytes};
  instruction.index_in_kind = program_->operations_of_kind[static_cast<size_t>(group)]++;
  if (IsRecorded(group)) instruction.record = program_->records++;
  return instruction;
}

}  // namespace lockstep
