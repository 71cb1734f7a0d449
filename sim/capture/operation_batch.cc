#include "sim/capture/operation_batch.h"

#include <algorithm>

#include "detector/model/input.h"

namespace lockstep {

bool IsTransfer(const TraceOperation& operation) {
  return operation.kind == OperationKind::kSend || operation.kind == OperationKind::kRecv;
}

uint64_t WireNumbers::SequenceOf(const TraceOperation& operation) const {
  return operation.sequence + (IsTransfer(operation) ? transfer_shift : collective_shift);
}

void AppendToBatch(const std::vector<const TraceOperation*>& operations, wire::OperationBatch& batch,
                   const WireNumbers& numbers, uint32_t stride) {
  batch.set_stride(stride);
  int64_t sequence = 0;
  int64_t enqueue_ns = 0;
  for (const TraceOperation* op : operations) {
    const auto own_sequence = static_cast<int64_t>(numbers.SequenceOf(*op));
    if (own_sequence % stride != 0) continue;
    const int64_t enqueued_ns = op->enqueue_ns + numbers.clock_shift_ns;
    batch.add_kinds(static_cast<uint32_t>(op->kind));
    batch.add_sequence_deltas(own_sequence - sequence);
    batch.add_enqueued_deltas_ns(enqueued_ns - enqueue_ns);
    batch.add_start_offsets_ns(op->start_ns - op->enqueue_ns);
    batch.add_duration_ns(op->duration_ns());
    batch.add_bytes(op->bytes);
    batch.add_peers(std::max(op->peer, -1));
    batch.add_timing_qualities(static_cast<uint32_t>(op->quality));
    sequence = own_sequence;
    enqueue_ns = enqueued_ns;
  }
}

}  // namespace lockstep
