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
// Of the records that ought to be there, and of a rank's operations that ought to have times. By judgement, not
// measured.
inline constexpr double kMaxLostRecords = 0.2;

// What is missing for any judgement; nothing: of the ranks that are known what is not found is not there.
std::optional<Reason> WhyNotJudged(const TraceAnalysis& analysis);

// A part of the job of which nothing is known, where the rest of it is judged: such a job is not called healthy. Ranks
// without records; ranks most of whose operations have times that tell waiting from working.
std::optional<Reason> WhatWasNotJudged(const TraceAnalysis& analysis);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_
