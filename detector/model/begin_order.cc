#include "detector/model/begin_order.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {

namespace {

// One thread has begun both, one right behind the other, in streams of their own.
bool LaunchedTogether(const TraceOperation& a, const TraceOperation& b) {
  const int64_t apart_ns = std::abs(b.start_ns - a.start_ns);
  return a.kind != b.kind && apart_ns <= kOneMomentNs && apart_ns * kEndTolerance <= a.duration_ns();
}

bool MayBeOneKernel(const TraceOperation& a, const TraceOperation& b) {
  return a.start_ns == b.start_ns || a.end_ns == b.end_ns;
}

// Of neighbours in a communicator, or, `by_kind`, in a kind of one, the share for which `counts` is true.
template <typename Counts>
double ShareOfNeighbours(absl::Span<const TraceOperation> operations, bool by_kind, const Counts& counts) {
  absl::flat_hash_map<std::pair<int32_t, OperationKind>, const TraceOperation*> latest;
  size_t all = 0, counted = 0;
  for (const TraceOperation& operation : operations) {
    const bool is_known = operation.started() && operation.finished() && operation.quality == TimingQuality::kUnknown;
    if (!is_known || IsSendOrRecv(operation.kind)) continue;
    const OperationKind kind = by_kind ? operation.kind : OperationKind::kUnknown;
    const TraceOperation*& before = latest[{operation.communicator, kind}];
    if (before != nullptr) {
      ++all;
      counted += counts(*before, operation);
    }
    before = &operation;
  }
  return all == 0 ? 0 : static_cast<double>(counted) / static_cast<double>(all);
}

}  // namespace

bool BeginsOutOfTurn(absl::Span<const TraceOperation> operations, bool by_kind) {
  const auto is_early = [](const TraceOperation& before, const TraceOperation& operation) {
    return !LaunchedTogether(before, operation) && !MayBeOneKernel(before, operation) &&
           !HasEndedBy(before, operation.start_ns);
  };
  return ShareOfNeighbours(operations, by_kind, is_early) > kFew;
}

double ShareBesideOthers(absl::Span<const TraceOperation> operations) {
  const auto is_beside = [](const TraceOperation& before, const TraceOperation& operation) {
    return before.kind != operation.kind && before.end_ns != operation.end_ns &&
           !HasEndedBy(before, operation.start_ns);
  };
  return ShareOfNeighbours(operations, /*by_kind=*/false, is_beside);
}

}  // namespace lockstep
