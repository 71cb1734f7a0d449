// Executes the actions of a plan over all ranks, phase after phase.
//
// State per rank: when its host will issue the next piece of work, when its compute stream and its data stream are
// free. Everything is a maximum and a sum of int64 nanoseconds, so a time that never comes spreads like any other. Not
// thread-safe.

#ifndef LOCKSTEP_SIM_PHASE_RUNNER_H_
#define LOCKSTEP_SIM_PHASE_RUNNER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/network_cost.h"
#include "sim/program.h"
#include "sim/record_rows.h"
#include "sim/step_conditions.h"

namespace lockstep {

class PhaseRunner {
 public:
  // `layout` must outlive this.
  PhaseRunner(const JobSpec& job, const Layout& layout, uint64_t seed);

  // `number` counts phases and selects the noise; `usual_step_ns` places freezes. Nothing is recorded when `rows` is
  // null.
  void Run(const Plan& plan, const StepConditions& conditions, int32_t number, int64_t usual_step_ns, RecordRows* rows);

  // When the last rank was through; >= kNever: some rank never will be.
  int64_t end_ns() const;

  // When the first rank got stuck; kNever = none did.
  int64_t hang_ns() const { return hang_ns_; }

  // The hangs of the conditions that took effect: of two, the second may find its rank stuck already.
  const std::vector<InjectedHang>& hung() const { return hung_; }

 private:
  // A collective, or one transfer of a group, that will never end.
  struct Stuck {
    int32_t stage = -1;
    int32_t instruction = -1;
    int32_t group = -1;
  };
  struct Place {
    int32_t rank = -1;
    int32_t instruction = -1;
  };
  struct StuckTransfer {
    int32_t transfer = -1;
    int32_t position = -1;  // of the rank within its stage
  };

  void RunInstruction(int32_t stage, int32_t index);
  void RunInput(int32_t stage);
  void RunCompute(int32_t stage, int32_t index);
  void RunCollective(int32_t stage, int32_t index);
  void EnterJoin(int32_t stage, int32_t index);
  void EndJoin(const Join& join);
  void IssueTransfers(int32_t stage, int32_t index);
  void StartTransfers(int32_t stage, int32_t handle);
  void EndTransfers(int32_t stage, int32_t handle);
  void Await(int32_t stage, int32_t handle);

  // The host of `rank` issues instruction `index`: when.
  int64_t Issue(int32_t rank, int32_t index, int64_t cost_ns);
  int64_t GroupEnd(const Instruction& operation, int32_t group, int64_t begin_ns, uint64_t bits) const;
  bool IsStuck(int32_t stage, int32_t index, int32_t group) const;

  void ApplyHangs(int32_t stage, int32_t index);
  void FinishHangs();
  bool IsDeadlocked(int32_t rank, int32_t index) const;
  TraceOperation* StartRecord(const Instruction& operation, int32_t stage, int32_t rank, int64_t enqueue_ns);
  void WriteTransferRecords(int32_t stage, int32_t rank, const Instruction& issue, int64_t enqueue_ns);

  int64_t* Begin(int32_t stage, int32_t handle) { return &begin_[stage][static_cast<size_t>(handle) * per_stage_]; }
  int64_t* End(int32_t stage, int32_t handle) { return &end_[stage][static_cast<size_t>(handle) * per_stage_]; }

  const JobSpec job_;
  const Layout& layout_;
  const uint64_t seed_;
  const int32_t per_stage_;
  NetworkCost cost_;
  std::array<std::vector<int32_t>, kGroupKinds> group_in_stage_;  // by position in the stage
  std::vector<int32_t> data_index_;                               // by position in the stage

  std::vector<int64_t> host_ns_;
  std::vector<int64_t> gpu_ns_;
  std::vector<int64_t> data_ns_;
  std::vector<int32_t> behind_;              // instructions issued since the rank's GPU got stuck
  std::vector<std::vector<int64_t>> begin_;  // by stage: handle x position
  std::vector<std::vector<int64_t>> end_;
  std::vector<uint64_t> sequence_;       // by stage * kGroupKinds + kind: operations so far
  std::vector<uint64_t> pair_sequence_;  // by source * P + target stage

  // Of the running phase.
  const Plan* plan_ = nullptr;
  const StepConditions* conditions_ = nullptr;
  RecordRows* rows_ = nullptr;
  int32_t number_ = 0;
  std::vector<Stuck> stuck_;
  std::vector<StuckTransfer> stuck_transfers_;
  std::vector<Place> deadlocks_;   // ranks that enter the world's operation before this one
  std::vector<Place> mismatched_;  // ranks that enter another operation than their peers
  std::vector<InjectedHang> hung_;
  int64_t hang_ns_ = kNever;
  std::vector<int64_t> entry_ns_;     // by position
  std::vector<int64_t> group_begin_;  // by group in the stage
  std::vector<int64_t> group_end_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PHASE_RUNNER_H_
