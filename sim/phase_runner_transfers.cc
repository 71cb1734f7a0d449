#include <algorithm>
#include <cstddef>

#include "sim/chance.h"
#include "sim/phase_runner.h"

namespace lockstep {

void PhaseRunner::IssueTransfers(int32_t stage, int32_t index) {
  const Instruction& issue = plan_->stages[stage].instructions[index];
  int64_t* const begins = Begin(stage, issue.handle);
  const auto launch_ns = static_cast<int64_t>(job_.workload.launch_seconds * 1e9);
  for (int32_t q = 0; q < per_stage_; ++q) {
    const int32_t r = stage * per_stage_ + q;
    const int64_t enqueue_ns = Issue(r, index, launch_ns);
    begins[q] = std::max(enqueue_ns, gpu_ns_[r]);
    if (rows_ != nullptr && enqueue_ns < kNever) WriteTransferRecords(stage, r, issue, enqueue_ns);
  }
}

void PhaseRunner::WriteTransferRecords(int32_t stage, int32_t rank, const Instruction& issue, int64_t enqueue_ns) {
  for (const int32_t t : plan_->stages[stage].transfer_groups[issue.handle].transfers) {
    const Transfer& transfer = plan_->transfers[t];
    const bool sends = transfer.source_stage == stage && transfer.source_handle == issue.handle;
    TraceOperation& record = rows_->At(stage, rank, sends ? transfer.source_record : transfer.target_record);
    record.enqueue_ns = enqueue_ns;
    record.sequence =
        pair_sequence_[transfer.source_stage * layout_.stages() + transfer.target_stage] + transfer.index_in_pair;
    record.bytes = issue.bytes;
    record.communicator = layout_.Communicator(GroupKind::kPipeline, layout_.GroupOf(GroupKind::kPipeline, rank));
    record.peer = sends ? transfer.target_stage : transfer.source_stage;
    record.kind = sends ? OperationKind::kSend : OperationKind::kRecv;
    record.quality = TimingQuality::kGpuTimer;
  }
}

void PhaseRunner::StartTransfers(int32_t stage, int32_t handle) {
  const TransferGroup& group = plan_->stages[stage].transfer_groups[handle];
  if (group.previous_on_stream < 0) return;
  int64_t* const begins = Begin(stage, handle);
  const int64_t* const free = End(stage, group.previous_on_stream);
  for (int32_t q = 0; q < per_stage_; ++q) begins[q] = std::max(begins[q], free[q]);
}

void PhaseRunner::EndTransfers(int32_t stage, int32_t handle) {
  const TransferGroup& group = plan_->stages[stage].transfer_groups[handle];
  const JobNoise& noise = job_.noise;
  int64_t* const ends = End(stage, handle);
  const int64_t* const own_begins = Begin(stage, handle);
  std::copy(own_begins, own_begins + per_stage_, ends);
  for (const int32_t t : group.transfers) {
    const Transfer& transfer = plan_->transfers[t];
    const int64_t* const sources = Begin(transfer.source_stage, transfer.source_handle);
    const int64_t* const targets = Begin(transfer.target_stage, transfer.target_handle);
    const Chance chance(seed_, ChanceUse::kTransfer, number_, (uint64_t{1} << 63) | static_cast<uint64_t>(t));
    for (int32_t q = 0; q < per_stage_; ++q) {
      const int32_t source = transfer.source_stage * per_stage_ + q;
      const int32_t target = transfer.target_stage * per_stage_ + q;
      const int64_t begin_ns = std::max(sources[q], targets[q]);
      const bool stuck = std::any_of(stuck_transfers_.begin(), stuck_transfers_.end(),
                                     [&](const StuckTransfer& s) { return s.transfer == t && s.position == q; });
      if (stuck || begin_ns >= kNever) {
        ends[q] = kNever;
        continue;
      }
      const uint64_t bits = chance.At(q);
      double ns = static_cast<double>(cost_.TransferNanos(job_.workload.activation_bytes, source, target)) *
                  (1 + noise.transfer_cv * Chance::BellOf(bits));
      if (Chance::HitOf(bits, noise.heavy_tail_share)) ns *= 1 + noise.heavy_tail_factor * Chance::BlowOf(bits);
      int64_t end_ns = begin_ns + static_cast<int64_t>(ns);
      if (cost_.has_freezes()) end_ns = cost_.AfterFreezes(source, target, begin_ns, end_ns);
      ends[q] = std::max(ends[q], end_ns);
    }
  }
  if (rows_ == nullptr) return;
  for (const int32_t t : group.transfers) {
    const Transfer& transfer = plan_->transfers[t];
    const bool sends = transfer.source_stage == stage && transfer.source_handle == handle;
    for (int32_t q = 0; q < per_stage_; ++q) {
      TraceOperation& record =
          rows_->At(stage, stage * per_stage_ + q, sends ? transfer.source_record : transfer.target_record);
      if (record.enqueue_ns == kNoTime) continue;
      if (own_begins[q] < kNever) record.start_ns = own_begins[q];
      if (ends[q] < kNever) record.end_ns = ends[q];
    }
  }
}

}  // namespace lockstep
