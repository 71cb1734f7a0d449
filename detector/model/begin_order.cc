#include "detector/model/begin_order.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {

// What begins together with it may be one kernel.
bool BeginsOutOfTurn(absl::Span<const TraceOperation> operations, bool by_kind) {
  absl::flat_hash_map<std::pair<int32_t, OperationKind>, const TraceOperation*> latest;
  size_t in_turn = 0, early = 0;
  for (const TraceOperation& operation : operations) {
    const bool is_known = operation.started() && operation.finished() && operation.quality == TimingQuality::kUnknown;
    if (!is_known || IsSendOrRecv(operation.kind)) continue;
    const OperationKind kind = by_kind ? operation.kind : OperationKind::kUnknown;
    const TraceOperation*& before = latest[{operation.communicator, kind}];
    if (before != nullptr) {
      const bool together = operation.start_ns == before->start_ns || operation.end_ns == before->end_ns;
      ++(together || HasEndedBy(*before, operation.start_ns) ? in_turn : early);
    }
    before = &operation;
  }
  return static_cast<double>(early) > kFew * static_cast<double>(in_turn + early);
}

}  // namespace lockstep
