// Everything that is known of one job and may be judged together.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_JOB_EVIDENCE_H_
#define LOCKSTEP_DETECTOR_MODEL_JOB_EVIDENCE_H_

#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/metric_table.h"
#include "detector/model/place_table.h"
#include "detector/model/trace.h"

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

#endif  // LOCKSTEP_DETECTOR_MODEL_JOB_EVIDENCE_H_
