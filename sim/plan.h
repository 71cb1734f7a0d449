// What every rank of each pipeline stage does in one step, and an order in which all of it can be computed.
//
// All ranks of a stage run the same instructions, so a step is described once per stage and not once per rank. Times
// are nanoseconds of a rank at its usual speed. Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_PLAN_H_
#define LOCKSTEP_SIM_PLAN_H_

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "sim/layout.h"

namespace lockstep {

enum class InstructionKind : uint8_t {
  kInput,           // the host waits for the input of the step
  kCompute,         // on the compute stream
  kCollective,      // of a group inside the stage
  kJoinCollective,  // of a group across stages; waited for by kAwait
  kTransfers,       // Send/Recv issued as one group; waited for by kAwait
  kAwait,           // the compute stream waits for `handle`
  kSync,            // the host waits for the GPU
};

struct Instruction {
  InstructionKind kind = InstructionKind::kCompute;
  // kCompute.
  int64_t base_ns = 0;
  int32_t microbatch = -1;
  bool of_experts = false;
  // kCollective, kJoinCollective.
  OperationKind operation = OperationKind::kUnknown;
  GroupKind group = GroupKind::kWorld;
  uint64_t bytes = 0;
  bool overlapped = false;    // on the data stream, beside the compute
  int32_t index_in_kind = 0;  // how many operations of this group kind came before in the step
  // What a later kAwait refers to; of its stage. -1 = the compute stream waits at once.
  int32_t handle = -1;
  // Position among the records of a rank and step; -1 = not recorded. kTransfers has one record per transfer.
  int32_t record = -1;
};

// One Send and its Recv.
struct Transfer {
  int32_t source_stage = 0;
  int32_t source_handle = 0;
  int32_t source_record = 0;
  int32_t target_stage = 0;
  int32_t target_handle = 0;
  int32_t target_record = 0;
  int32_t index_in_pair = 0;  // how many transfers source -> target came before in the step
};

// Send/Recv of one stage that are issued together and end together.
struct TransferGroup {
  int32_t previous_on_stream = -1;  // handle that has to end first
  std::vector<int32_t> transfers;   // indices into Plan::transfers
};

// One collective across stages: who takes part with which handle.
struct Join {
  struct Part {
    int32_t stage = 0;
    int32_t handle = 0;
    int32_t instruction = 0;
  };
  std::vector<Part> parts;
};

enum class ActionKind : uint8_t { kRun, kStartTransfers, kEndTransfers, kEndCollective };

struct Action {
  ActionKind kind = ActionKind::kRun;
  int32_t stage = -1;  // -1: across stages
  int32_t index = -1;  // kRun: of the instruction; kEndCollective: of the join; else the handle
};

struct StageProgram {
  std::vector<Instruction> instructions;
  std::vector<TransferGroup> transfer_groups;  // by handle; empty for handles of collectives
  int32_t handles = 0;
  int32_t records = 0;
  std::vector<int32_t> operations_of_kind;  // by GroupKind: how far the sequence numbers advance in a step
};

struct Plan {
  std::vector<StageProgram> stages;
  std::vector<Transfer> transfers;
  std::vector<int32_t> transfers_of_pair;  // by source stage * P + target stage
  std::vector<Join> joins;
  std::vector<Action> actions;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PLAN_H_
