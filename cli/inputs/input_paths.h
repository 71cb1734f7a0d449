// Which files the PATH arguments of a command mean. Thread-compatible.

#ifndef LOCKSTEP_CLI_INPUTS_INPUT_PATHS_H_
#define LOCKSTEP_CLI_INPUTS_INPUT_PATHS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

struct InputPath {
  std::string path;
  std::string origin;     // the name of the directory that was given, or of the one that the file lies in
  bool was_named = true;  // by the caller or a glob; false = found in a directory
};

// `argument` is a file, a directory (all files below it but hidden ones, by name) or a glob. FAILED_PRECONDITION when
// there is nothing, or more than `max_files`.
absl::StatusOr<std::vector<InputPath>> ExpandPath(const std::string& argument, size_t max_files);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_INPUT_PATHS_H_
