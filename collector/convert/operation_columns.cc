#include "collector/convert/operation_columns.h"

#include <algorithm>
#include <cstdint>
#include <limits>
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

constexpr CollectiveAlgorithm kAlgorithms[] = {
    CollectiveAlgorithm::kUnknown,       CollectiveAlgorithm::kTree,         CollectiveAlgorithm::kRing,
    CollectiveAlgorithm::kCollnetDirect, CollectiveAlgorithm::kCollnetChain, CollectiveAlgorithm::kNvls,
    CollectiveAlgorithm::kNvlsTree,      CollectiveAlgorithm::kPat,          CollectiveAlgorithm::kSymmetric,
    CollectiveAlgorithm::kCopyEngine,
};
constexpr CollectiveProtocol kProtocols[] = {CollectiveProtocol::kUnknown, CollectiveProtocol::kLl,
                                             CollectiveProtocol::kLl128, CollectiveProtocol::kSimple};

constexpr uint32_t kMaxChannels = std::numeric_limits<uint16_t>::max();

template <typename T, size_t kCount>
T FromTable(const T (&table)[kCount], uint32_t number, ConvertLosses& losses) {
  if (number < kCount) return table[number];
  ++losses.unknown_enums;
  return table[0];
}

// An optional column that is empty is as long as it has to be.
int OptionalLength(int length, int rows) { return length == 0 ? rows : length; }

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
      {"algorithms", OptionalLength(batch.algorithms_size(), rows)},
      {"protocols", OptionalLength(batch.protocols_size(), rows)},
      {"channels", OptionalLength(batch.channels_size(), rows)},
  };
  for (const auto& [name, length] : columns) {
    if (length == rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("operations: column ", name, " has ", length, " rows, column kinds has ", rows));
  }
  return absl::OkStatus();
}

uint32_t At(const google::protobuf::RepeatedField<uint32_t>& optional_column, int row) {
  return optional_column.empty() ? 0 : optional_column.Get(row);
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

OperationKind ToOperationKind(uint32_t kind, ConvertLosses& losses) { return FromTable(kOperationKinds, kind, losses); }

TimingQuality ToTimingQuality(uint32_t quality, ConvertLosses& losses) {
  return FromTable(kTimingQualities, quality, losses);
}

Tuning ToTuning(uint32_t algorithm, uint32_t protocol, uint32_t channels, ConvertLosses& losses) {
  return {FromTable(kAlgorithms, algorithm, losses), FromTable(kProtocols, protocol, losses),
          static_cast<uint16_t>(channels <= kMaxChannels ? channels : 0)};
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
    if (At(batch.channels(), row) > kMaxChannels) return OutOfRange("channels", row);
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
    operation.tuning =
        ToTuning(At(batch.algorithms(), row), At(batch.protocols(), row), At(batch.channels(), row), losses);
  }
  if (!std::is_sorted(operations.begin(), operations.end(), ByEnqueueTime)) {
    std::stable_sort(operations.begin(), operations.end(), ByEnqueueTime);
  }
  return operations;
}

}  // namespace lockstep
