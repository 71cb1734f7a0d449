// Whether records suffice to call a job healthy: silence in the data is never read as health.
//
// Findings need no coverage, their absence does. Pure. Cost O(instances).

#ifndef LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_
#define LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_

#include <optional>

#include "base/shares.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/reason.h"

namespace lockstep {

// Of the ranks that ought to have left records; whoever left none may be the one that the others waited for.
inline constexpr double kMaxMissingRanks = kFew;
// Of the records that ought to be there. By judgement, not measured.
inline constexpr double kMaxLostRecords = 0.2;

// What is missing, or nothing when nothing found means that nothing is wrong.
std::optional<Reason> WhyNotJudged(const TraceAnalysis& analysis);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_
