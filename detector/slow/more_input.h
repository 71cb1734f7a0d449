// Ranks that work longer because they are given more to do: the sizes of their calls tell.
//
// Who has a longer batch, or more tokens, hands on more: its AllToAlls, its Send/Recv or the collectives of its tensor
// group are larger than the same calls of its peers, as its work is longer. So a slow cause whose calls of one kind are
// larger, beyond what those of the peers vary by, by half of what its work is longer by or more, is no slow machine.
// What is large for all is the layout of the work. Calls whose sizes are not recorded tell nothing. The test is ours.
// Pure. Cost O(records of the cause's ranks and of the peers that are looked at).

#ifndef LOCKSTEP_DETECTOR_SLOW_MORE_INPUT_H_
#define LOCKSTEP_DETECTOR_SLOW_MORE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "detector/model/input.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Of the kind of calls in which the ranks of a cause are given most more than their peers.
struct MoreInput {
  OperationKind kind = OperationKind::kUnknown;
  double bytes = 0;       // of a call in the mean: the median of the cause's ranks
  double peer_bytes = 0;  // the same of the peers
  size_t peers = 0;
};

// None where sizes do not explain the excess.
std::optional<MoreInput> FindMoreInput(const TraceAnalysis& analysis, const SlowCause& cause);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_MORE_INPUT_H_
