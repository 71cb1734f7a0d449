// What would be saved if batches, or tokens for experts, were dealt out evenly: steps replayed with that work evened.
//
// Ranks of one class make the same calls, and the same call of a step has the same place in all of them: group family,
// kind, the other side's class, and how far its sequence number is from the first of the step in its channel. At each
// place there is what is usual for those that get the same batches, the ranks of a replica, and what is usual for all.
// A step is replayed with the one and with the other: so what waits for what inside a step counts, and lengths that
// differ micro-batch by micro-batch cost more than their sums show. Medians instead of single values, in both, keep a
// rank's own noise and what lies beside lost records out.
// Of the tokens that an expert group routes, its members share a fixed sum: here the step as it was is replayed, and
// one in which each has the mean of the group at each place, times how slow it is in work that no routing decides.
// Three usual steps are replayed, a quick, a middle and a long one.
// (Counterfactual of What-if, arXiv 2505.05713; there the mean over all replaces every value.)
//
// Cost O(n log n) for n operations of a step. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_EVEN_WORK_H_
#define LOCKSTEP_DETECTOR_SLOW_EVEN_WORK_H_

#include <vector>

#include "detector/slow/step_replay.h"
#include "detector/steps/step_profile.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Own times by node of the replay.
struct DealtOut {
  std::vector<float> as_recorded;  // to each share what is usual for it
  std::vector<float> evenly;       // to each share what is usual for all
};
DealtOut DealOut(const TraceAnalysis& analysis, const StepProfile& profile, const StepReplay& replay, UnevenWork which);

// Share of the step time; negative where no step can be replayed. `profile`: of the analysis (StructuralProfile).
double GainOfEven(const TraceAnalysis& analysis, const StepProfile& profile, UnevenWork which);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_EVEN_WORK_H_
