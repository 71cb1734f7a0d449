// Runs a program to its end: with a clean environment, a time limit, and what it prints kept within bounds.
//
// The child is the leader of a process group of its own; when it ends, or its time is over, the whole group is killed.
// It inherits no descriptor but a file that holds its input, and one pipe for what it prints on stdout and stderr. Its
// signals are as by default, and it runs in /. One that leaves its group (setsid) escapes. Thread-safe.

#ifndef LOCKSTEP_DAEMON_CHILD_PROCESS_H_
#define LOCKSTEP_DAEMON_CHILD_PROCESS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

struct ChildOptions {
  std::string program;                   // absolute path; no shell, and no arguments
  std::vector<std::string> environment;  // "NAME=value"; nothing else is inherited
  std::string input;                     // on stdin, which can be read twice
  int64_t timeout_ns = 30'000'000'000;
  size_t max_output_bytes = 4'096;          // what is beyond is read and left out
  const std::atomic<bool>* stop = nullptr;  // true = as if its time were over. Borrowed
};

struct ChildResult {
  int exit_code = -1;  // -1 = it was killed
  int signal = 0;      // that killed it; 0 = none
  bool timed_out = false;
  std::string output;         // the first bytes
  uint64_t output_bytes = 0;  // of all
};

// Waits for the end. An error says why it could not be started.
absl::StatusOr<ChildResult> RunChild(const ChildOptions& options);

// OK for the absolute path of a file that root or this process' user owns, that is executable, and that neither group
// nor others may write, nor the folder that it is in. PERMISSION_DENIED, INVALID_ARGUMENT or NOT_FOUND say what is
// wrong.
absl::Status CheckTrustedProgram(const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_CHILD_PROCESS_H_
