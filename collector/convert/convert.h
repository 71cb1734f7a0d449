// From the wire to values of the detector: the gate for untrusted input, and with operation_columns the only place that
// knows both sides.
//
// A report either converts whole or is refused with INVALID_ARGUMENT that names the field and the entry. What a newer
// agent or an odd driver may legitimately send (unknown enum, unknown metric, NaN) is left out and counted instead.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_
#define LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/convert/convert_losses.h"
#include "detector/input.h"
#include "proto/capture.pb.h"

namespace lockstep {

// Whether `text` may be a host, job, device or other name: at most `max_bytes` bytes and no control characters, so
// that it can stand in a log line, a label and a key. The error begins with `field`. Pure.
absl::Status CheckName(absl::string_view field, absl::string_view text, size_t max_bytes);

// Checks and converts one slice; `received_ns` is taken from it as it is. O(size of the slice). Pure.
absl::StatusOr<HostReport> ToHostReport(const wire::CaptureInput& input, ConvertLosses& losses);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_CONVERT_H_
