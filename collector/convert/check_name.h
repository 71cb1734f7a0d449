// What may be a name in a report.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_CHECK_NAME_H_
#define LOCKSTEP_COLLECTOR_CONVERT_CHECK_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Whether `text` may be a host, job, device or other name: at most `max_bytes` bytes and no control characters, so
// that it can stand in a log line, a label and a key. The error begins with `field`. Pure.
absl::Status CheckName(absl::string_view field, absl::string_view text, size_t max_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_CHECK_NAME_H_
