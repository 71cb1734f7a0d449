// Lines of the file /proc/PID/status. Pure.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STATUS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STATUS_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

// More than any kernel writes: a long line per mask of processors, about 2 KiB of a machine with 8,192 of them.
inline constexpr size_t kMaxStatusBytes = 16'384;

// What follows `key` ("Uid:") on its line; nullopt = there is none. A command's name cannot forge a line: the kernel
// writes a line break in a name as "\n", and the name stands first.
absl::optional<absl::string_view> StatusLine(absl::string_view status, absl::string_view key);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STATUS_H_
