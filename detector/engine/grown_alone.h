// A host, or a rank, whose own work became longer when the steps did, while nobody else's changed.
//
// Suspects are found by comparison with peers of equal duty. Where all peers share the host (a pipeline stage on one
// machine), or nobody has the same duty, a slow machine exceeds nobody. But it exceeds its own past, in the steps in
// which the job is slower, and alone: work that the software makes longer grows on several hosts. So where no other
// cause is known since the steps became longer, all of them or some, this is one. Grown = by half of what a longer step
// takes longer, at least, and beyond the noise, one of them by five standard errors. All of them have to be of one
// host, and nearly all ranks of the others have grown by less than a quarter. Those that grew by half of what the
// strongest did are named: one, or their host, which is late if they are nearly all of it. Pure. Cost O(ranks x steps).

#ifndef LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
#define LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_

#include <optional>

#include "detector/engine/time_ledger.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// nullopt = several have grown, or nobody.
std::optional<SlowCause> FindGrownAlone(const TraceAnalysis& analysis, const StepShift& shift);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
