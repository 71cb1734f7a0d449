// Ranks that seem to work longer because a slow rank or path of their pipeline lets less of their work hide.
//
// Where a rank prefetches what it receives, its work runs beside the Recv, and what is left of the work after the end
// of the Recv is all that shows as own time. In a pipeline that waits for a slow rank the others' work no longer hides
// behind their Recvs: they seem to have become slow at the same step, by less, and so they are compared with ranks
// whose work hides still. What they surely exceed these by is their least own time over the most that the others' can
// be, call by call (own_time.h). So a suspect is not believed when
//   - one with more excess became slow at the same step, and suspects that send to one another connect the two,
//   - less than half of its excess is sure, and
//   - at least half of the other's is.
// Nor is one less than half of whose excess is sure, where a Send/Recv path of its pipeline, of all ranks that send to
// one another, became slow at the same step.
// Pure. Cost O(operations of some steps of the suspects' peers + Send/Recv channels).

#ifndef LOCKSTEP_DETECTOR_SLOW_DRAGGED_ALONG_H_
#define LOCKSTEP_DETECTOR_SLOW_DRAGGED_ALONG_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Seconds per step; nothing where no peers made the same calls in a step that both left whole.
std::optional<double> SureExcess(const TraceAnalysis& analysis, const Suspect& suspect,
                                 const std::vector<Suspect>& suspects);

// `suspects` come by falling excess, and keep their order.
void DropDraggedAlong(const TraceAnalysis& analysis, absl::Span<const SlowTransfers> transfers,
                      std::vector<Suspect>* suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_DRAGGED_ALONG_H_
