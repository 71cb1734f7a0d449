// How long an operation takes of which a member left no record: as long as its complete neighbours.
//
// Pure. Cost O(instances of the channel) at most; a few where hardly any record is lost.

#ifndef LOCKSTEP_DETECTOR_SLOW_NEAREST_COMPLETE_H_
#define LOCKSTEP_DETECTOR_SLOW_NEAREST_COMPLETE_H_

#include <cstdint>

#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Median transfer, in seconds, of the complete instances of its channel, kind and size that are nearest to it, before
// and after; negative = there are none. `instance`: of the matched operations.
double NearestCompleteSeconds(const TraceAnalysis& analysis, uint32_t instance);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_NEAREST_COMPLETE_H_
