// The thresholds of a detector as part of a capture.
//
// Pure. FromWire is given untrusted input and answers INVALID_ARGUMENT to what no collector can have run with.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_DETECTOR_OPTIONS_H_
#define LOCKSTEP_COLLECTOR_CONVERT_DETECTOR_OPTIONS_H_

#include "absl/status/statusor.h"
#include "detector/engine/job_engine.h"
#include "proto/capture.pb.h"

namespace lockstep {

// FromWire gives back exactly what ToWire was given.
wire::DetectorOptions ToWire(const JobEngineOptions& options);
absl::StatusOr<JobEngineOptions> FromWire(const wire::DetectorOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_DETECTOR_OPTIONS_H_
