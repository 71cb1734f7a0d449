// Where in a process its Python interpreter is, by the files that it has mapped.

#ifndef LOCKSTEP_AGENT_STACKS_MAPPED_PYTHON_H_
#define LOCKSTEP_AGENT_STACKS_MAPPED_PYTHON_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// A file that may hold an interpreter: "libpython3.8.so.1.0", "python3.11". Plain value; thread-compatible.
struct MappedPython {
  int minor = 0;      // 11 of 3.11
  uint64_t base = 0;  // where its ELF header is
};

// Candidates in `maps`, the text of /proc/PID/maps; libraries first: where there is one, the program is a shell around
// it. At most kMaxPythonFiles. Pure.
inline constexpr size_t kMaxPythonFiles = 8;
std::vector<MappedPython> FindMappedPython(absl::string_view maps);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_MAPPED_PYTHON_H_
