#include "sim/capture/operation_batch.h"

namespace lockstep {

void AppendToBatch(const std::vector<const TraceOperation*>& operations, wire::OperationBatch& batch) {
  batch.set_stride(1);
  int64_t sequence = 0;
  int64_t enqueue_ns = 0;
  for (const TraceOperation* op : operations) {
    const int64_t enqueued_ns = op->enqueue_ns + kBootNanos;
    batch.add_kinds(static_cast<uint32_t>(op->kind));
    batch.add_sequence_deltas(static_cast<int64_t>(op->sequence) - sequence);
    batch.add_enqueued_deltas_ns(enqueued_ns - enqueue_ns);
    batch.add_start_offsets_ns(op->start_ns - op->enqueue_ns);
    batch.add_duration_ns(op->duration_ns());
    batch.add_bytes(op->bytes);
    batch.add_peers(op->peer);
    batch.add_timing_qualities(static_cast<uint32_t>(op->quality));
    sequence = static_cast<int64_t>(op->sequence);
    enqueue_ns = enqueued_ns;
  }
}

}  // namespace lockstep
