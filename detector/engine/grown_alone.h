// A host, or a rank, whose own work became longer when the steps did, while nobody else's changed.
//
// Suspects are found by comparison with peers of equal duty. Where all peers share the host (a pipeline stage on one
// machine), or nobody has the same duty, a slow machine exceeds nobody. But it exceeds its own past, at the step at
// which the job became slower, and alone: work that the software makes longer grows on several hosts. So where no other
// cause is known since that step, this is one. Grown = by half of what the steps became longer by, at least, and five
// standard errors. Of a host nearly all ranks have to be, of the others on three hosts or more none, and nearly all by
// less than a quarter. Pure. Cost O(ranks x steps).

#ifndef LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
#define LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_

#include <optional>

#include "detector/engine/time_ledger.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// nullopt = several have grown, or nobody, or some of the steps are longer only: nothing has grown for good.
std::optional<SlowCause> FindGrownAlone(const TraceAnalysis& analysis, const StepShift& shift);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
