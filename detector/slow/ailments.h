// Slow ranks and slow transfers as what can be removed: those that are one thing become one ailment.
//
// Pure. What is returned points into the causes and transfers, and into the analysis: they must outlive it.

#ifndef LOCKSTEP_DETECTOR_SLOW_AILMENTS_H_
#define LOCKSTEP_DETECTOR_SLOW_AILMENTS_H_

#include <cstddef>
#include <vector>

#include "detector/slow/counterfactual_step.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

struct Ailments {
  std::vector<Ailment> all;          // by cause, then transfers that belong to none
  std::vector<size_t> of_transfers;  // by slow transfers: number in `all`
};

// A rank and transfers of its that became slow at the same step are one ailment.
Ailments AilmentsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                    const std::vector<SlowTransfers>& transfers);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_AILMENTS_H_
