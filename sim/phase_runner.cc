#include "sim/phase_runner.h"

#include <algorithm>
#include <cstddef>

#include "sim/chance.h"

namespace lockstep {
namespace {

constexpr double kLateExitShare = 0.5;  // of the latency: how far apart the members leave a collective

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

int64_t TimeOrNone(int64_t ns) { return ns < kNever ? ns : kNoTime; }

}  // namespace

PhaseRunner::PhaseRunner(const JobSpec& job, const Layout& layout, uint64_t seed)
    : job_(job), layout_(layout), seed_(seed), per_stage_(layout.ranks_per_stage()), cost_(job, layout) {
  for (int k = 0; k < kGroupKinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    group_in_stage_[k].resize(per_stage_);
    for (int32_t q = 0; q < per_stage_; ++q) group_in_stage_[k][q] = layout.GroupOf(kind, q);
  }
  data_index_.resize(per_stage_);
  for (int32_t q = 0; q < per_stage_; ++q) data_index_[q] = layout.DataIndexOf(q);
  host_ns_.assign(layout.ranks(), 0);
  gpu_ns_.assign(layout.ranks(), 0);
  data_ns_.assign(layout.ranks(), 0);
  behind_.assign(layout.ranks(), 0);
  begin_.resize(layout.stages());
  end_.resize(layout.stages());
  sequence_.assign(static_cast<size_t>(layout.stages()) * kGroupKinds, 1);
  pair_sequence_.assign(static_cast<size_t>(layout.stages()) * layout.stages(), 1);
  entry_ns_.resize(per_stage_);
}

int64_t PhaseRunner::end_ns() const { return *std::max_element(gpu_ns_.begin(), gpu_ns_.end()); }

void PhaseRunner::Run(const Plan& plan, const StepConditions& conditions, int32_t number, int64_t usual_step_ns,
                      RecordRows* rows) {
  plan_ = &plan;
  conditions_ = &conditions;
  rows_ = rows;
  number_ = number;
  stuck_.clear();
  stuck_transfers_.clear();
  deadlocks_.clear();
  mismatched_.clear();
  cost_.Use(conditions, end_ns(), usual_step_ns);
  for (int32_t stage = 0; stage < layout_.stages(); ++stage) {
    const size_t cells = static_cast<size_t>(plan.stages[stage].handles) * per_stage_;
    if (begin_[stage].size() < cells) begin_[stage].resize(cells);
    if (end_[stage].size() < cells) end_[stage].resize(cells);
  }
  for (const Action& action : plan.actions) {
    switch (action.kind) {
      case ActionKind::kRun:
        RunInstruction(action.stage, action.index);
        break;
      case ActionKind::kStartTransfers:
        StartTransfers(action.stage, action.index);
        break;
      case ActionKind::kEndTransfers:
        EndTransfers(action.stage, action.index);
        break;
      case ActionKind::kEndCollective:
        EndJoin(plan.joins[action.index]);
        break;
    }
  }
  FinishHangs();
  for (int32_t stage = 0; stage < layout_.stages(); ++stage) {
    for (int k = 0; k < kGroupKinds; ++k) {
      sequence_[static_cast<size_t>(stage) * kGroupKinds + k] += plan.stages[stage].operations_of_kind[k];
    }
    if (rows != nullptr) rows->Advance(stage, plan.stages[stage].records);
  }
  for (size_t pair = 0; pair < pair_sequence_.size(); ++pair) pair_sequence_[pair] += plan.transfers_of_pair[pair];
}

void PhaseRunner::RunInstruction(int32_t stage, int32_t index) {
  if (!conditions_->hangs.empty()) ApplyHangs(stage, index);
  const Instruction& instruction = plan_->stages[stage].instructions[index];
  switch (instruction.kind) {
    case InstructionKind::kInput:
      return RunInput(stage);
    case InstructionKind::kCompute:
      return RunCompute(stage, index);
    case InstructionKind::kCollective:
      return RunCollective(stage, index);
    case InstructionKind::kJoinCollective:
      return EnterJoin(stage, index);
    case InstructionKind::kTransfers:
      return IssueTransfers(stage, index);
    case InstructionKind::kAwait:
      return Await(stage, instruction.handle);
    case InstructionKind::kSync:
      for (int32_t r = stage * per_stage_; r < (stage + 1) * per_stage_; ++r) {
        host_ns_[r] = std::max(host_ns_[r], gpu_ns_[r]);
      }
  }
}

int64_t PhaseRunner::Issue(int32_t rank, int32_t index, int64_t cost_ns) {
  int64_t& host_ns = host_ns_[rank];
  if (!conditions_->stalls.empty() && conditions_->stalls[rank].instruction == index) {
    host_ns += conditions_->stalls[rank].length_ns;
  }
  if (gpu_ns_[rank] >= kNever) {
    if (++behind_[rank] > job_.workload.host_lead_operations) host_ns = kNever;
  } else {
    host_ns = std::max(host_ns, gpu_ns_[rank] - Nanos(job_.workload.host_lead_seconds));
  }
  const int64_t at_ns = host_ns;
  host_ns += static_cast<int64_t>(static_cast<double>(cost_ns) * conditions_->issue[rank]);
  return at_ns;
}

void PhaseRunner::RunInput(int32_t stage) {
  for (int32_t r = stage * per_stage_; r < (stage + 1) * per_stage_; ++r) host_ns_[r] += conditions_->input_ns[r];
}

void PhaseRunner::RunCompute(int32_t stage, int32_t index) {
  const Instruction& block = plan_->stages[stage].instructions[index];
  const StepConditions& c = *conditions_;
  const JobNoise& noise = job_.noise;
  const Chance chance(seed_, ChanceUse::kCompute, number_, (static_cast<uint64_t>(stage) << 32) | index);
  const double base = static_cast<double>(block.base_ns) * c.common * c.stage[stage];
  const auto launch_ns = static_cast<int64_t>(static_cast<double>(block.base_ns) * job_.workload.launch_share);
  const bool uneven = block.microbatch >= 0 && !c.sequence.empty();
  const bool experts = block.of_experts && !c.expert.empty();
  for (int32_t q = 0; q < per_stage_; ++q) {
    const int32_t r = stage * per_stage_ + q;
    const int64_t issued_ns = Issue(r, index, launch_ns);
    const uint64_t bits = chance.At(r);
    double ns = base * c.compute[r] * (1 + noise.compute_cv * Chance::BellOf(bits));
    if (Chance::HitOf(bits, noise.heavy_tail_share)) ns *= 1 + noise.heavy_tail_factor * Chance::BlowOf(bits);
    if (uneven) {
      const size_t microbatches = c.sequence.size() / job_.parallelism.data;
      ns *= c.sequence[data_index_[q] * microbatches + block.microbatch];
    }
    if (experts) ns *= c.expert[data_index_[q] % job_.parallelism.expert];
    // The last kernel of the block cannot end before it was issued.
    const int64_t begin_ns = std::max(gpu_ns_[r], issued_ns);
    gpu_ns_[r] = std::max(begin_ns + static_cast<int64_t>(ns), host_ns_[r]);
  }
}

TraceOperation* PhaseRunner::StartRecord(const Instruction& operation, int32_t stage, int32_t rank,
                                         int64_t enqueue_ns) {
  if (rows_ == nullptr || operation.record < 0 || enqueue_ns >= kNever) return nullptr;
  TraceOperation& record = rows_->At(stage, rank, operation.record);
  record.enqueue_ns = enqueue_ns;
  record.sequence = sequence_[static_cast<size_t>(stage) * kGroupKinds + static_cast<size_t>(operation.group)] +
                    operation.index_in_kind;
  record.bytes = operation.bytes;
  record.communicator = layout_.Communicator(operation.group, layout_.GroupOf(operation.group, rank));
  record.kind = operation.operation;
  record.quality = TimingQuality::kGpuTimer;
  return &record;
}

bool PhaseRunner::IsStuck(int32_t stage, int32_t index, int32_t group) const {
  return std::any_of(stuck_.begin(), stuck_.end(), [&](const Stuck& stuck) {
    return stuck.stage == stage && stuck.instruction == index && stuck.group == group;
  });
}

int64_t PhaseRunner::GroupEnd(const Instruction& operation, int32_t group, int64_t begin_ns, uint64_t bits) const {
  if (begin_ns >= kNever) return kNever;
  const JobNoise& noise = job_.noise;
  double ns =
      static_cast<double>(cost_.CollectiveNanos(operation, group)) * (1 + noise.transfer_cv * Chance::BellOf(bits));
  if (Chance::HitOf(bits, noise.heavy_tail_share)) ns *= 1 + noise.heavy_tail_factor * Chance::BlowOf(bits);
  const int64_t end_ns = begin_ns + static_cast<int64_t>(ns);
  return cost_.has_freezes() ? cost_.AfterFreezes(operation.group, group, begin_ns, end_ns) : end_ns;
}

void PhaseRunner::RunCollective(int32_t stage, int32_t index) {
  const Instruction& operation = plan_->stages[stage].instructions[index];
  const std::vector<int32_t>& group_of = group_in_stage_[static_cast<size_t>(operation.group)];
  const int32_t groups = layout_.GroupCount(operation.group) / layout_.stages();
  const int64_t launch_ns = Nanos(job_.workload.launch_seconds);
  group_begin_.assign(groups, 0);
  group_end_.resize(groups);
  for (int32_t q = 0; q < per_stage_; ++q) {
    const int32_t r = stage * per_stage_ + q;
    const int64_t enqueue_ns = Issue(r, index, launch_ns);
    int64_t entry_ns = std::max(enqueue_ns, gpu_ns_[r]);
    if (operation.overlapped) entry_ns = std::max(entry_ns, data_ns_[r]);
    const bool deadlocked = !deadlocks_.empty() && IsDeadlocked(r, index);
    if (deadlocked) entry_ns = kNever;
    entry_ns_[q] = entry_ns;
    group_begin_[group_of[q]] = std::max(group_begin_[group_of[q]], entry_ns);
    TraceOperation* const record = deadlocked ? nullptr : StartRecord(operation, stage, r, enqueue_ns);
    if (record != nullptr) record->start_ns = TimeOrNone(entry_ns);
  }
  const Chance chance(seed_, ChanceUse::kTransfer, number_, (static_cast<uint64_t>(stage) << 32) | index);
  for (int32_t g = 0; g < groups; ++g) {
    const int32_t group = stage * groups + g;
    group_end_[g] = IsStuck(stage, index, group) ? kNever : GroupEnd(operation, group, group_begin_[g], chance.At(g));
  }
  const Chance exits(seed_, ChanceUse::kExitSkew, number_, (static_cast<uint64_t>(stage) << 32) | index);
  const double skew_ns = job_.workload.latency_seconds * kLateExitShare * 1e9;
  int64_t* const ends = operation.handle >= 0 ? End(stage, operation.handle) : nullptr;
  for (int32_t q = 0; q < per_stage_; ++q) {
    const int32_t r = stage * per_stage_ + q;
    const int32_t g = group_of[q];
    int64_t end_ns = group_end_[g];
    if (end_ns < kNever) {
      const double factor = cost_.MemberFactor(operation, stage * groups + g, r);
      end_ns = group_begin_[g] + static_cast<int64_t>(static_cast<double>(end_ns - group_begin_[g]) * factor) +
               static_cast<int64_t>(skew_ns * exits.Unit(r));
      if (rows_ != nullptr && operation.record >= 0) rows_->At(stage, r, operation.record).end_ns = end_ns;
    }
    // Who is to enter another group first does not wait for this one.
    if (!deadlocks_.empty() && IsDeadlocked(r, index)) end_ns = 0;
    if (ends != nullptr) ends[q] = end_ns;
    (operation.overlapped ? data_ns_ : gpu_ns_)[r] = end_ns;
  }
}

void PhaseRunner::EnterJoin(int32_t stage, int32_t index) {
  const Instruction& operation = plan_->stages[stage].instructions[index];
  int64_t* const begins = Begin(stage, operation.handle);
  const int64_t launch_ns = Nanos(job_.workload.launch_seconds);
  for (int32_t q = 0; q < per_stage_; ++q) {
    const int32_t r = stage * per_stage_ + q;
    const int64_t enqueue_ns = Issue(r, index, launch_ns);
    begins[q] = std::max(enqueue_ns, gpu_ns_[r]);
    TraceOperation* const record = StartRecord(operation, stage, r, enqueue_ns);
    if (record != nullptr) record->start_ns = TimeOrNone(begins[q]);
  }
}

void PhaseRunner::EndJoin(const Join& join) {
  const Join::Part& first = join.parts.front();
  const Instruction& operation = plan_->stages[first.stage].instructions[first.instruction];
  const bool world = operation.group == GroupKind::kWorld;
  const int32_t groups = world ? 1 : per_stage_;
  group_begin_.assign(groups, 0);
  group_end_.resize(groups);
  for (const Join::Part& part : join.parts) {
    const int64_t* const begins = Begin(part.stage, part.handle);
    for (int32_t q = 0; q < per_stage_; ++q) {
      int64_t& begin_ns = group_begin_[world ? 0 : q];
      begin_ns = std::max(begin_ns, begins[q]);
    }
  }
  const Chance chance(seed_, ChanceUse::kTransfer, number_,
                      (uint64_t{1} << 62) | (static_cast<uint64_t>(operation.group) << 32) | operation.index_in_kind);
  for (int32_t g = 0; g < groups; ++g) {
    const bool stuck = std::any_of(join.parts.begin(), join.parts.end(),
                                   [&](const Join::Part& p) { return IsStuck(p.stage, p.instruction, g); });
    group_end_[g] = stuck ? kNever : GroupEnd(operation, g, group_begin_[g], chance.At(g));
  }
  const Chance exits(seed_, ChanceUse::kExitSkew, number_,
                     (uint64_t{1} << 62) | (static_cast<uint64_t>(operation.group) << 32) | operation.index_in_kind);
  const double skew_ns = job_.workload.latency_seconds * kLateExitShare * 1e9;
  for (const Join::Part& part : join.parts) {
    const int32_t record = plan_->stages[part.stage].instructions[part.instruction].record;
    int64_t* const ends = End(part.stage, part.handle);
    for (int32_t q = 0; q < per_stage_; ++q) {
      const int32_t r = part.stage * per_stage_ + q;
      ends[q] = group_end_[world ? 0 : q];
      if (ends[q] >= kNever) continue;
      ends[q] += static_cast<int64_t>(skew_ns * exits.Unit(r));
      if (rows_ != nullptr && record >= 0) rows_->At(part.stage, r, record).end_ns = ends[q];
    }
  }
}

void PhaseRunner::Await(int32_t stage, int32_t handle) {
  const int64_t* const ends = End(stage, handle);
  for (int32_t q = 0; q < per_stage_; ++q) {
    int64_t& gpu_ns = gpu_ns_[stage * per_stage_ + q];
    gpu_ns = std::max(gpu_ns, ends[q]);
  }
}

}  // namespace lockstep
