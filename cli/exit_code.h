// What the exit status of `lockstep` means to a script. Documented in docs/cli.md: never renumber. Immutable;
// thread-safe.

#ifndef LOCKSTEP_CLI_EXIT_CODE_H_
#define LOCKSTEP_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace lockstep {

enum class ExitCode : int {
  kOk = 0,
  kFindings = 1,              // the command worked and found what it was asked to look for
  kUsage = 2,                 // a bad flag, argument or query
  kInputUnreadable = 3,       // a file that is missing, cut short, damaged or cannot be written
  kCollectorUnreachable = 4,  // no connection, no answer in time, or the collector failed to answer
  kNotFound = 5,              // no such job or incident
  kNotAllowed = 6,            // the collector does not know who asks, or does not allow it
};

// The exit code of a command that ended with the error `status`. Pure.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_EXIT_CODE_H_
