// Tells scripts and tests which ports a daemon got, when it was started with port 0.
//
// Thread-compatible.

#ifndef LOCKSTEP_DAEMON_PORTS_FILE_H_
#define LOCKSTEP_DAEMON_PORTS_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace lockstep {

// Writes {"<name>":<port>,...,"pid":<pid>}; whoever sees the file sees all of it. UNAVAILABLE if it cannot be written.
// Without a path nobody wants to know.
absl::Status WritePortsFile(const std::string& path, const std::vector<std::pair<std::string, int>>& ports);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_PORTS_FILE_H_
