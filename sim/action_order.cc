#include "sim/action_order.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace lockstep {
namespace {

enum class HandleState : uint8_t { kUnknown, kIssued, kStarted, kEnded };

class Ordering {
 public:
  explicit Ordering(Plan& plan) : plan_(plan), next_(plan.stages.size(), 0), states_(plan.stages.size()) {
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      states_[stage].assign(plan.stages[stage].handles, HandleState::kUnknown);
      for (const Instruction& instruction : plan.stages[stage].instructions) {
        if (instruction.kind == InstructionKind::kJoinCollective) ++joins_expected_[Slot(instruction)];
      }
    }
  }

  void Run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (size_t stage = 0; stage < plan_.stages.size(); ++stage) progress |= AdvanceStage(stage);
    }
    for (size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      CHECK(next_[stage] == plan_.stages[stage].instructions.size());
    }
  }

 private:
  // Joined collectives of one kind and index belong together across stages.
  static size_t Slot(const Instruction& join) {
    const size_t slot = static_cast<size_t>(join.group) * kJoinsPerKind + join.index_in_kind;
    CHECK(join.index_in_kind < kJoinsPerKind);
    return slot;
  }

  bool AdvanceStage(size_t stage) {
    const std::vector<Instruction>& instructions = plan_.stages[stage].instructions;
    const size_t before = next_[stage];
    while (next_[stage] < instructions.size()) {
      const Instruction& instruction = instructions[next_[stage]];
      if (instruction.kind == InstructionKind::kAwait && states_[stage][instruction.handle] != HandleState::kEnded) {
        break;
      }
      Emit(ActionKind::kRun, stage, next_[stage]);
      ++next_[stage];
      if (instruction.kind == InstructionKind::kTransfers) {
        states_[stage][instruction.handle] = HandleState::kIssued;
        TryStart(stage, instruction.handle);
      } else if (instruction.kind == InstructionKind::kJoinCollective) {
        Enter(stage, instruction);
      } else if (instruction.kind == InstructionKind::kCollective && instruction.handle >= 0) {
        states_[stage][instruction.handle] = HandleState::kEnded;
      }
    }
    return next_[stage] > before;
  }

  void Enter(size_t stage, const Instruction& instruction) {
    const size_t slot = Slot(instruction);
    Join& join = joins_[slot];
    join.parts.push_back({static_cast<int32_t>(stage), instruction.handle, static_cast<int32_t>(next_[stage]) - 1});
    if (join.parts.size() < static_cast<size_t>(joins_expected_[slot])) return;
    Emit(ActionKind::kEndCollective, -1, static_cast<int64_t>(plan_.joins.size()));
    plan_.joins.push_back(join);
    for (const Join::Part& part : join.parts) states_[part.stage][part.handle] = HandleState::kEnded;
  }

  void TryStart(size_t stage, int32_t handle) {
    const TransferGroup& group = plan_.stages[stage].transfer_groups[handle];
    if (states_[stage][handle] != HandleState::kIssued) return;
    if (group.previous_on_stream >= 0 && states_[stage][group.previous_on_stream] != HandleState::kEnded) return;
    states_[stage][handle] = HandleState::kStarted;
    Emit(ActionKind::kStartTransfers, stage, handle);
    TryEnd(stage, handle);
    for (const int32_t t : group.transfers) {
      const Transfer& transfer = plan_.transfers[t];
      const bool sends = transfer.source_stage == static_cast<int32_t>(stage) && transfer.source_handle == handle;
      if (sends) {
        TryEnd(transfer.target_stage, transfer.target_handle);
      } else {
        TryEnd(transfer.source_stage, transfer.source_handle);
      }
    }
  }

  bool HasStarted(int32_t stage, int32_t handle) const { return states_[stage][handle] >= HandleState::kStarted; }

  void TryEnd(size_t stage, int32_t handle) {
    if (states_[stage][handle] != HandleState::kStarted) return;
    for (const int32_t t : plan_.stages[stage].transfer_groups[handle].transfers) {
      const Transfer& transfer = plan_.transfers[t];
      if (!HasStarted(transfer.source_stage, transfer.source_handle)) return;
      if (!HasStarted(transfer.target_stage, transfer.target_handle)) return;
    }
    states_[stage][handle] = HandleState::kEnded;
    Emit(ActionKind::kEndTransfers, stage, handle);
    const std::vector<TransferGroup>& groups = plan_.stages[stage].transfer_groups;
    for (size_t next = 0; next < groups.size(); ++next) {
      if (groups[next].previous_on_stream == handle) TryStart(stage, static_cast<int32_t>(next));
    }
  }

  void Emit(ActionKind kind, int64_t stage, int64_t index) {
    plan_.actions.push_back({.kind = kind, .stage = static_cast<int32_t>(stage), .index = static_cast<int32_t>(index)});
  }

  static constexpr int32_t kJoinsPerKind = 8;

  Plan& plan_;
  std::vector<size_t> next_;                      // instruction of each stage
  std::vector<std::vector<HandleState>> states_;  // by stage and handle
  std::vector<int32_t> joins_expected_ = std::vector<int32_t>(kGroupKinds * kJoinsPerKind, 0);
  std::vector<Join> joins_ = std::vector<Join>(kGroupKinds * kJoinsPerKind);
};

}  // namespace

void OrderActions(Plan& plan) {
  plan.actions.clear();
  plan.joins.clear();
  Ordering(plan).Run();
}

}  // namespace lockstep
