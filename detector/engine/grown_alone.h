// A host, or a rank, whose own work became longer when the steps did, while nobody else's changed.
//
// Suspects are found by comparison with peers of equal duty. Where all peers share the host (a pipeline stage on one
// machine), or nobody has the same duty, a slow machine exceeds nobody. But it exceeds its own past, in the steps in
// which the job is slower, and alone: work that the software makes longer grows on several hosts. So where no other
// cause is known since the steps became longer, all of them or some, this is one. Grown = by half of what a longer step
// takes longer, at least, and beyond the noise, one of them by five standard errors. All of them have to be of one
// host, and nearly all ranks of the others have grown by less than a quarter. Those that grew by half of what the
// strongest did are named: one, or their host, which is late if they are nearly all of it.
//
// Where steps vary too much to tell that they became longer, the work of a host without peers elsewhere may tell it:
// by a change of level of its ranks against those of all other hosts. Pure. Cost O(ranks x steps).

#ifndef LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
#define LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_

#include <optional>

#include "detector/engine/time_ledger.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Since when the work of one host without peers elsewhere is longer against that of all others, significantly and by
// `min_gain` of a step. The lengths are that of a usual step, and what the host works longer on top.
std::optional<StepShift> FindGrownWork(const TraceAnalysis& analysis, double min_gain);

// nullopt = several have grown, or nobody.
std::optional<SlowCause> FindGrownAlone(const TraceAnalysis& analysis, const StepShift& shift);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_GROWN_ALONE_H_
