// What the comparison of profiles adds to what is known of a job.
//
// A finding about a rank that a verdict names already becomes evidence of that verdict; any other is a verdict of its
// own. Profiles show one window, so that they accuse software alone: a GPU or host that is slow in it is observed.
// What is found on all ranks becomes the reason where a job is slow and nobody knows why. A verdict of its own is a
// line of the ledger, of what is unexplained there; evidence of another one is in that one's line.
//
// Where nothing could be told without them and profiles show nothing either, that is said. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_PATTERN_VERDICT_H_
#define LOCKSTEP_DETECTOR_PATTERNS_PATTERN_VERDICT_H_

#include "detector/model/trace.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

// `trace` says where ranks are; it may be empty. Without workers in `fleet` nothing happens.
void AddPatternFindings(const PatternFleet& fleet, const PatternReport& patterns, const Trace& trace,
                        JobReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_PATTERN_VERDICT_H_
