#include "agent/sources/rings/operation_columns.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"

namespace lockstep {
namespace {

// By ring::OperationKind.
constexpr wire::OperationKind kKinds[] = {
    wire::OPERATION_KIND_UNSPECIFIED,    wire::OPERATION_KIND_ALL_REDUCE, wire::OPERATION_KIND_ALL_GATHER,
    wire::OPERATION_KIND_REDUCE_SCATTER, wire::OPERATION_KIND_BROADCAST,  wire::OPERATION_KIND_REDUCE,
    wire::OPERATION_KIND_ALL_TO_ALL,     wire::OPERATION_KIND_GATHER,     wire::OPERATION_KIND_SCATTER,
    wire::OPERATION_KIND_BARRIER,        wire::OPERATION_KIND_SEND,       wire::OPERATION_KIND_RECV,
};
constexpr uint32_t kTimingQualities = 6;  // 0 .. kHostEnqueue
constexpr uint32_t kAlgorithms = 10;      // 0 .. kCopyEngine
constexpr uint32_t kProtocols = 4;        // 0 .. kSimple

// What a collector accepts; see also telemetry.proto.
constexpr uint32_t kMaxStride = 1u << 20;
constexpr int32_t kMaxMembers = 1'000'000;
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;
constexpr int64_t kClockSlackNs = kNanosPerSecond;  // a mapped GPU clock may run a little ahead
constexpr int64_t kMaxEarlyStartNs = 3600 * kNanosPerSecond;
constexpr int64_t kMaxDurationNs = 30LL * 86'400 * kNanosPerSecond;

// The column, or nothing where nothing is known.
void DropIfUnknown(google::protobuf::RepeatedField<uint32_t>& column) {
  if (std::all_of(column.begin(), column.end(), [](uint32_t value) { return value == 0; })) column.Clear();
}

// The smallest stride that leaves at most `share` operations; kMaxStride if none does.
uint32_t StrideFor(const std::vector<const ring::OperationSlot*>& operations, size_t share, uint32_t least) {
  uint32_t stride = least;
  const auto is_kept = [&stride](const ring::OperationSlot* operation) { return operation->sequence % stride == 0; };
  while (stride<kMaxStride&& static_cast<size_t>(std::count_if(operations.begin(), operations.end(), is_kept))> share) {
    stride *= 2;
  }
  return stride;
}

}  // namespace

wire::OperationKind ToWireKind(uint8_t kind) { return kind < std::size(kKinds) ? kKinds[kind] : kKinds[0]; }

bool IsPlausibleOperation(const ring::OperationSlot& operation, int64_t now_ns) {
  const int64_t latest_ns = now_ns + kClockSlackNs;
  const auto is_past = [latest_ns](int64_t time_ns) { return time_ns > 0 && time_ns <= latest_ns; };
  return is_past(operation.enqueued_at_ns) && is_past(operation.started_at_ns) && is_past(operation.finished_at_ns) &&
         operation.enqueued_at_ns - operation.started_at_ns <= kMaxEarlyStartNs &&
         operation.started_at_ns - operation.enqueued_at_ns <= kMaxDurationNs &&
         operation.started_at_ns <= operation.finished_at_ns &&
         operation.finished_at_ns - operation.started_at_ns <= kMaxDurationNs && operation.sequence <= kMaxSequence &&
         operation.peer >= -2 && operation.peer < kMaxMembers;
}

size_t AppendOperations(std::vector<const ring::OperationSlot*> operations, size_t share, uint32_t least_stride,
                        wire::OperationBatch& batch) {
  const uint32_t stride = StrideFor(operations, share, least_stride);
  const auto is_earlier = [](const auto* a, const auto* b) { return a->enqueued_at_ns < b->enqueued_at_ns; };
  // As a recorder hands them out, nearly always.
  if (!std::is_sorted(operations.begin(), operations.end(), is_earlier)) {
    std::stable_sort(operations.begin(), operations.end(), is_earlier);
  }
  batch.set_stride(stride);
  int64_t sequence = 0;
  int64_t enqueued_ns = 0;
  size_t kept = 0;
  for (const ring::OperationSlot* operation : operations) {
    // A hostile ring may give every operation the same sequence: then the share alone is the limit.
    if (operation->sequence % stride != 0 || kept == share) continue;
    ++kept;
    batch.add_kinds(ToWireKind(operation->kind));
    batch.add_sequence_deltas(static_cast<int64_t>(operation->sequence) - sequence);
    batch.add_enqueued_deltas_ns(operation->enqueued_at_ns - enqueued_ns);
    batch.add_start_offsets_ns(operation->started_at_ns - operation->enqueued_at_ns);
    batch.add_duration_ns(operation->finished_at_ns - operation->started_at_ns);
    batch.add_bytes(operation->bytes);
    batch.add_peers(std::max(operation->peer, -1));
    batch.add_timing_qualities(operation->timing_quality < kTimingQualities ? operation->timing_quality : 0);
    batch.add_algorithms(operation->algorithm < kAlgorithms ? operation->algorithm : 0);
    batch.add_protocols(operation->protocol < kProtocols ? operation->protocol : 0);
    batch.add_channels(operation->channels);
    sequence = static_cast<int64_t>(operation->sequence);
    enqueued_ns = operation->enqueued_at_ns;
  }
  DropIfUnknown(*batch.mutable_algorithms());
  DropIfUnknown(*batch.mutable_protocols());
  DropIfUnknown(*batch.mutable_channels());
  return kept;
}

}  // namespace lockstep
