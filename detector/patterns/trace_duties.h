// The duties of workers as operation records show them: ranks that are peers in the job's groups. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_TRACE_DUTIES_H_
#define LOCKSTEP_DETECTOR_PATTERNS_TRACE_DUTIES_H_

#include "detector/model/trace.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

// Fills FleetWorker::duty where the records tell peers apart; else leaves all as they are, for duty_groups.h to find.
void StateDuties(const Trace& trace, PatternFleet& fleet);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_TRACE_DUTIES_H_
