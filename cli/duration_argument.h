// A duration as typed on the command line.

#ifndef LOCKSTEP_CLI_DURATION_ARGUMENT_H_
#define LOCKSTEP_CLI_DURATION_ARGUMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

// Nanoseconds of "300ms", "10s", "1h30m": at least one millisecond, at most ten years. INVALID_ARGUMENT, naming `flag`,
// otherwise. Pure.
absl::StatusOr<int64_t> ParseDurationArgument(const char* flag, const std::string& text);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_DURATION_ARGUMENT_H_
