// A line of /proc/PID/maps: which part of a process's memory comes from which file.

#ifndef LOCKSTEP_AGENT_STACKS_MAPPING_H_
#define LOCKSTEP_AGENT_STACKS_MAPPING_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

// Plain value; thread-compatible.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // of the first byte, in the file
  bool is_code = false;
  bool is_written = false;
  absl::string_view path;  // into the line; "" = memory without a file, "[stack]", "/usr/lib/a.so (deleted)"
};

// none = it is no such line. Pure.
absl::optional<Mapping> ParseMapping(absl::string_view line);

// Without the folders. Pure.
absl::string_view FileNameOf(const Mapping& mapping);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_MAPPING_H_
