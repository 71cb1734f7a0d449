// As whom a process runs: the Uid line of /proc/<pid>/status.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_UIDS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_UIDS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/rooted_fs.h"

namespace lockstep {

// Real, effective, saved and of the file system. A file that the process has made is owned by one of them, unless it
// has given all of them up since.
using ProcessUids = std::array<uint32_t, 4>;

// INVALID_ARGUMENT for a text without a Uid line. Pure.
absl::StatusOr<ProcessUids> ParseProcessUids(absl::string_view status);

// NOT_FOUND when there is no such process. `fs` is rooted where proc/ is.
absl::StatusOr<ProcessUids> ReadProcessUids(const RootedFs& fs, int32_t pid);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_UIDS_H_
