// Whether records suffice to call a job healthy: silence in the data is never read as health.
//
// Findings need no coverage, their absence does. Pure. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_
#define LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_

#include <optional>

#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/reason.h"

namespace lockstep {

// Of the ranks that ought to have left records; whoever left none may be the one that the others waited for.
inline constexpr double kMaxMissingRanks = kFew;
// Of the records that ought to be there, and of a rank's operations that ought to have times. By judgement, not
// measured.
inline constexpr double kMaxLostRecords = 0.2;

// Whether times tell waiting from working: not the moment of being handed over by the host, nor the envelope of a
// network proxy, which begins before the GPU does (NCCL before 2.26).
inline bool TellsWaiting(TimingQuality quality) {
  return quality != TimingQuality::kHostEnqueue && quality != TimingQuality::kProxyEnvelope;
}

struct Coverage {
  // What is missing for any judgement; none: of the ranks that are known what is not found is not there.
  std::optional<Reason> why_not_judged;
  // If judged: ranks that are not known, those without records, or else those without times that tell waiting from
  // working. Such a job is not called healthy.
  std::optional<Reason> left_out;
};

Coverage CoverageOf(const TraceAnalysis& analysis);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_COVERAGE_H_
