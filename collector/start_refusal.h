// What a collector that cannot start says, and the status with which it ends.
//
// Pure but for the line in the log. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_START_REFUSAL_H_
#define LOCKSTEP_COLLECTOR_START_REFUSAL_H_

#include "absl/status/status.h"

namespace lockstep {

// The number for operators (daemon/exit_codes.h) of an error of the listeners, the store or Collector::Start.
int ExitCodeOf(const absl::Status& status);

// Logs why, in one line. Returns `exit_code`.
int RefuseToStart(const absl::Status& status, int exit_code);
inline int RefuseToStart(const absl::Status& status) { return RefuseToStart(status, ExitCodeOf(status)); }

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_START_REFUSAL_H_
