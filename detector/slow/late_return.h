// A host that comes back last from the pauses of a job, as one whose storage is slow at checkpoints.
//
// In a planned pause hosts are idle, and steps with one in them say nothing of a rank's usual work. But they end when
// the last host is back: what it takes longer than the others, all pay. The pause of a host is the longest piece of own
// work of any of its ranks, beyond what it is in a usual step; that of the job, what nearly all hosts have of it: a
// rank that writes for all others makes none, but a host of which all ranks pause alone. A host is late in a pause if
// it lies beyond the second latest by a quarter of it, or of a step where the others do not pause. It is the cause if
// it is so in at least `min_persistence` of the pauses since the first, more often than chance allows at the rate of
// the other hosts (intermittent_excess.h), and that costs `min_cost` of the time since. The program is, where the first
// or the last rank is late and others of its host are not, and too few pauses before say that it need not be.
//
// The cost is what it lies beyond the second latest. No replay: pauses are no steps, and the ledger has no line for
// them (engine/time_ledger.h). Pure. Cost O(ranks x steps + operations of these steps).

#ifndef LOCKSTEP_DETECTOR_SLOW_LATE_RETURN_H_
#define LOCKSTEP_DETECTOR_SLOW_LATE_RETURN_H_

#include <vector>

#include "detector/slow/persistent_excess.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// At most one for each host, rising, each with a LateReturn. Where the program is to blame nobody is a culprit.
std::vector<Verdict> FindLateReturns(const TraceAnalysis& analysis, const PersistenceOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_LATE_RETURN_H_
