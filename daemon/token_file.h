// A token that is kept in a file, by a person or by whatever renews it: read for each use, so that the newest is sent.

#ifndef LOCKSTEP_DAEMON_TOKEN_FILE_H_
#define LOCKSTEP_DAEMON_TOKEN_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

// What `authorization` says to whom the token is shown: "Bearer TOKEN". INVALID_ARGUMENT names a file that cannot be
// read, or holds anything but one token of printable characters and white space around it. Thread-safe.
absl::StatusOr<std::string> ReadBearer(const std::string& file);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TOKEN_FILE_H_
