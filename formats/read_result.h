// What became of one file. Pure value; thread-compatible.

#ifndef LOCKSTEP_FORMATS_READ_RESULT_H_
#define LOCKSTEP_FORMATS_READ_RESULT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lockstep {

// A broken file still gives the records before the damage, and between damaged rows.
struct ReadResult {
  absl::Status status;     // what was expected and found, with line or byte offset, at the first damage
  uint64_t records = 0;    // taken
  uint64_t malformed = 0;  // skipped
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_READ_RESULT_H_
