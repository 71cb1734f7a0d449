// Reads a small file whole: keys, certificates, rules.

#ifndef LOCKSTEP_DAEMON_BOUNDED_FILE_H_
#define LOCKSTEP_DAEMON_BOUNDED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

inline constexpr size_t kMaxBoundedFileBytes = 1 << 20;

// INVALID_ARGUMENT names the file and says why it cannot be read, or that it is longer than kMaxBoundedFileBytes.
// Thread-safe.
absl::StatusOr<std::string> ReadBoundedFile(const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_BOUNDED_FILE_H_
