// From the wire to values of the detector: the gate for untrusted input, and with operation_columns the only place that
// knows both sides.
//
// A report either converts whole or is refused with INVALID_ARGUMENT that names the field and the entry. What a newer
// agent or an odd driver may legitimately send (unknown enum, unknown metric, NaN) is left out and counted instead.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_
#define LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_

#include "absl/status/statusor.h"
#include "collector/convert/convert_losses.h"
#include "detector/model/input.h"
#include "proto/capture.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// How long the report waited in its agent, believed up to kMaxWaitedNanos: a claim beyond that is cut, not refused.
int64_t WaitedNanos(const wire::AgentReport& report);

// Checks and converts one slice; `received_ns` is taken from it as it is. O(size of the slice). Pure.
absl::StatusOr<HostReport> ToHostReport(const wire::CaptureInput& input, ConvertLosses& losses);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_
