// A small text file, read and replaced as a whole.
//
// Errors: FAILED_PRECONDITION, with the path and what the system says. Not thread-safe with respect to one path.

#ifndef LOCKSTEP_CLI_WHOLE_FILE_H_
#define LOCKSTEP_CLI_WHOLE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kMaxWholeFileBytes = 1 << 20;

// "" for a file that does not exist.
absl::StatusOr<std::string> ReadWholeFileOrEmpty(const std::string& path);

// Readers see the old text or the new one, never a part: written beside the file, then renamed over it. Keeps mode and,
// where allowed, owner; a new file has mode 0644. A symbolic link stays one: its target is replaced.
absl::Status ReplaceWholeFile(const std::string& path, absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_WHOLE_FILE_H_
