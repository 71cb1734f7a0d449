// Writes the instructions of one pipeline stage, one behind the other, and numbers what is in them.
//
// Numbers begin at 0 in each plan: of operations per kind of group, of records, and of handles, for which a later
// instruction may wait. The program must outlive it. Not thread-safe.

#ifndef LOCKSTEP_SIM_STAGE_WRITER_H_
#define LOCKSTEP_SIM_STAGE_WRITER_H_

#include <cstdint>

#include "detector/model/input.h"
#include "sim/layout.h"
#include "sim/plan.h"

namespace lockstep {

class StageWriter {
 public:
  // `records_inner` false: operations of tensor, context and expert groups leave no record. `program` is empty.
  StageWriter(bool records_inner, StageProgram* program);

  // The host waits: for the input of the step, or for the GPU.
  void AwaitInput() { Add({.kind = InstructionKind::kInput}); }
  void Sync() { Add({.kind = InstructionKind::kSync}); }

  // `microbatch` -1 = of none.
  void Compute(int64_t base_ns, int32_t microbatch, bool of_experts);

  // Of a group inside the stage; the compute waits for it.
  void Collective(GroupKind group, OperationKind operation, uint64_t bytes);
  // The same beside the compute, which has to wait for the handle that this gives.
  int32_t OverlappedCollective(GroupKind group, OperationKind operation, uint64_t bytes);
  // Of a group across stages; the compute waits for it.
  void Join(GroupKind group, OperationKind operation, uint64_t bytes);

  // Nothing for -1.
  void Await(int32_t handle);

  // A group of Send/Recv behind the one with handle `previous_on_stream`; -1 = it is the first. Gives its own handle.
  // Each transfer that is added takes the next record.
  int32_t OpenTransfers(int32_t previous_on_stream, uint64_t bytes);
  // `transfer`: index into Plan::transfers. Gives its record.
  int32_t AddTransfer(int32_t handle, int32_t transfer);

 private:
  void Add(const Instruction& instruction) { program_->instructions.push_back(instruction); }
  int32_t NewHandle();
  bool IsRecorded(GroupKind group) const;
  Instruction Operation(InstructionKind kind, GroupKind group, OperationKind operation, uint64_t bytes);

  const bool records_inner_;
  StageProgram* const program_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_STAGE_WRITER_H_
