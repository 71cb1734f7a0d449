#include <algorithm>
#include <cstddef>

#include "sim/phase_runner.h"

namespace lockstep {
namespace {

bool StopsHost(FaultKind kind) {
  return kind == FaultKind::kNotEntered || kind == FaultKind::kProcessDead || kind == FaultKind::kMachineUnreachable;
}

}  // namespace

void PhaseRunner::ApplyHangs(int32_t stage, int32_t index) {
  for (const InjectedHang& hang : conditions_->hangs) {
    if (hang.instruction != index || layout_.StageOf(hang.rank) != stage) continue;
    const Instruction& instruction = plan_->stages[stage].instructions[index];
    const int64_t now_ns = std::max(host_ns_[hang.rank], gpu_ns_[hang.rank]);
    if (now_ns >= kNever) continue;  // somebody else was first
    hang_ns_ = std::min(hang_ns_, now_ns);
    hung_.push_back(hang);
    if (StopsHost(hang.kind)) {
      host_ns_[hang.rank] = kNever;
    } else if (hang.kind == FaultKind::kGpuStuck || hang.kind == FaultKind::kGpuLost) {
      gpu_ns_[hang.rank] = kNever;
    } else if (hang.kind == FaultKind::kDeadlock) {
      deadlocks_.push_back({hang.rank, index});
    } else if (instruction.kind == InstructionKind::kTransfers) {
      stuck_transfers_.push_back(
          {plan_->stages[stage].transfer_groups[instruction.handle].transfers.front(), hang.rank % per_stage_});
    } else {
      stuck_.push_back({stage, index, layout_.GroupOf(instruction.group, hang.rank)});
      if (hang.kind == FaultKind::kMismatch) mismatched_.push_back({hang.rank, index});
    }
  }
}

bool PhaseRunner::IsDeadlocked(int32_t rank, int32_t index) const {
  return std::any_of(deadlocks_.begin(), deadlocks_.end(),
                     [&](const Place& place) { return place.rank == rank && place.instruction == index; });
}

// What the stuck ranks leave behind that differs from what their peers leave.
void PhaseRunner::FinishHangs() {
  if (rows_ == nullptr) return;
  for (const auto& [rank, index] : mismatched_) {
    const int32_t stage = layout_.StageOf(rank);
    TraceOperation& record = rows_->At(stage, rank, plan_->stages[stage].instructions[index].record);
    if (rank % 2 == 0) {
      record.bytes += record.bytes / 2;
    } else {
      const bool reduces = record.kind == OperationKind::kAllReduce;
      record.kind = reduces ? OperationKind::kAllGather : OperationKind::kAllReduce;
    }
  }
  for (const auto& [rank, index] : deadlocks_) {
    const int32_t stage = layout_.StageOf(rank);
    const std::vector<Instruction>& instructions = plan_->stages[stage].instructions;
    const auto world = std::find_if(instructions.begin() + index, instructions.end(), [](const Instruction& i) {
      return i.kind == InstructionKind::kJoinCollective && i.group == GroupKind::kWorld;
    });
    const int64_t entered_ns = rows_->At(stage, rank, world->record).enqueue_ns;
    if (entered_ns == kNoTime) continue;
    const auto launch_ns = static_cast<int64_t>(job_.workload.launch_seconds * 1e9);
    StartRecord(instructions[index], stage, rank, entered_ns + launch_ns);
  }
}

}  // namespace lockstep
