// Everything that is known of one job and may be judged together.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_JOB_EVIDENCE_H_
#define LOCKSTEP_DETECTOR_JOB_EVIDENCE_H_

#include <string>
#include <vector>

#include "detector/counters/metric_table.h"
#include "detector/input.h"
#include "detector/places/place_table.h"
#include "detector/trace/trace.h"

namespace lockstep {

struct HostEvent {
  std::string host;
  KernelEvent event;
};

// Any part may be empty.
struct JobEvidence {
  std::string job;
  Trace trace;
  MetricTable metrics;
  std::vector<HostEvent> events;
  PlaceTable places;  // of the hosts, as their agents said
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_JOB_EVIDENCE_H_
