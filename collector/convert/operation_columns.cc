#include "collector/convert/operation_columns.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/convert/report_limits.h"

namespace lockstep {
namespace {

// Indexed by the number on the wire.
constexpr OperationKind kOperationKinds[] = {
    OperationKind::kUnknown,   OperationKind::kAllReduce, OperationKind::kAllGather, OperationKind::kReduceScatter,
    OperationKind::kBroadcast, OperationKind::kReduce,    OperationKind::kAllToAll,  OperationKind::kGather,
    OperationKind::kScatter,   OperationKind::kBarrier,   OperationKind::kSend,      OperationKind::kRecv,
};
constexpr TimingQuality kTimingQualities[] = {
    TimingQuality::kUnknown,       TimingQuality::kGpuTimer, TimingQuality::kKernelWindow,
    TimingQuality::kProxyEnvelope, TimingQuality::kHostCall, TimingQuality::kHostEnqueue,
};

absl::Status CheckLengths(const wire::OperationBatch& batch) {
  const int rows = batch.kinds_size();
  if (rows > kMaxOperationsPerBatch) {
    return absl::InvalidArgumentError(absl::StrCat("operations: more than ", kMaxOperationsPerBatch, " rows"));
  }
  const std::pair<const char*, int> columns[] = {
      {"sequence_deltas", batch.sequence_deltas_size()},
      {"enqueued_deltas_ns", batch.enqueued_deltas_ns_size()},
      {"start_offsets_ns", batch.start_offsets_ns_size()},
      {"duration_ns", batch.duration_ns_size()},
      {"bytes", batch.bytes_size()},
      {"peers", batch.peers_size()},
      {"timing_qualities", batch.timing_qualities_size()},
  };
  for (const auto& [name, length] : columns) {
    if (length == rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("operations: column ", name, " has ", length, " rows, column kinds has ", rows));
  }
  return absl::OkStatus();
}

absl::Status OutOfRange(const char* column, int row) {
  return absl::InvalidArgumentError(absl::StrCat("operations: ", column, " out of range in row ", row));
}

// The running sum of a delta column, refused as soon as it leaves [0, limit].
bool Advance(int64_t& sum, int64_t delta, int64_t limit) {
  return !__builtin_add_overflow(sum, delta, &sum) && sum >= 0 && sum <= limit;
}

bool ByEnqueueTime(const Operation& a, const Operation& b) { return a.enqueue_ns < b.enqueue_ns; }

}  // namespace

OperationKind ToOperationKind(uint32_t kind, ConvertLosses& losses) {
  if (kind < std::size(kOperationKinds)) return kOperationKinds[kind];
  ++losses.unknown_enums;
  return OperationKind::kUnknown;
}

TimingQuality ToTimingQuality(uint32_t quality, ConvertLosses& losses) {
  if (quality < std::size(kTimingQualities)) return kTimingQualities[quality];
  ++losses.unknown_enums;
  return TimingQuality::kUnknown;
}

absl::StatusOr<std::vector<Operation>> ToOperations(const wire::OperationBatch& batch, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckLengths(batch));
  std::vector<Operation> operations(batch.kinds_size());
  int64_t sequence = 0;
  int64_t enqueue_ns = 0;
  for (int row = 0; row < batch.kinds_size(); ++row) {
    const int64_t offset_ns = batch.start_offsets_ns(row);
    const int64_t duration_ns = batch.duration_ns(row);
    if (!Advance(sequence, batch.sequence_deltas(row), kMaxSequence)) return OutOfRange("sequence_deltas", row);
    if (!Advance(enqueue_ns, batch.enqueued_deltas_ns(row), kMaxMonotonicNanos)) {
      return OutOfRange("enqueued_deltas_ns", row);
    }
    if (offset_ns < -kMaxStartOffsetNanos || offset_ns > kMaxDurationNanos) return OutOfRange("start_offsets_ns", row);
    if (duration_ns < 0 || duration_ns > kMaxDurationNanos) return OutOfRange("duration_ns", row);
    if (batch.peers(row) < -1 || batch.peers(row) >= kMaxRanks) return OutOfRange("peers", row);
    const TimingQuality quality = ToTimingQuality(batch.timing_qualities(row), losses);

    Operation& operation = operations[row];
    operation.kind = ToOperationKind(batch.kinds(row), losses);
    operation.sequence = sequence;
    operation.enqueue_ns = enqueue_ns;
    operation.start_ns = enqueue_ns + offset_ns;
    operation.end_ns = operation.start_ns + duration_ns;
    operation.bytes = batch.bytes(row);
    operation.peer = batch.peers(row);
    operation.quality = quality;
  }
  if (!std::is_sorted(operations.begin(), operations.end(), ByEnqueueTime)) {
    std::stable_sort(operations.begin(), operations.end(), ByEnqueueTime);
  }
  return operations;
}

}  // namespace lockstep
