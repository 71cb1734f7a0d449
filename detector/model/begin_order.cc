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

// They may be one kernel, or two kinds in streams of their own that one thread begins one right behind the other.
bool Together(const TraceOperation& a, const TraceOperation& b) {
  const int64_t apart_ns = std::abs(b.start_ns - a.start_ns);
  const bool launched = a.kind != b.kind && apart_ns <= kOneMomentNs && apart_ns * kEndTolerance <= a.duration_ns();
  return launched || apart_ns == 0 || a.end_ns == b.end_ns;
}

}  // namespace

bool BeginsOutOfTurn(absl::Span<const TraceOperation> operations, bool by_kind) {
  absl::flat_hash_map<std::pair<int32_t, OperationKind>, const TraceOperation*> latest;
  size_t in_turn = 0, early = 0;
  for (const TraceOperation& operation : operations) {
    const bool is_known = operation.started() && operation.finished() && operation.quality == TimingQuality::kUnknown;
    if (!is_known || IsSendOrRecv(operation.kind)) continue;
    const OperationKind kind = by_kind ? operation.kind : OperationKind::kUnknown;
    const TraceOperation*& before = latest[{operation.communicator, kind}];
    if (before != nullptr) {
      ++(Together(*before, operation) || HasEndedBy(*before, operation.start_ns) ? in_turn : early);
    }
    before = &operation;
  }
  return static_cast<double>(early) > kFew * static_cast<double>(in_turn + early);
}

}  // namespace lockstep
