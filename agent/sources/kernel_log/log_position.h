// How far the kernel log has been read, kept across restarts of the agent.
//
// The file is one line, "<boot id> <sequence>\n". It belongs on a file system in memory (/run): it is worthless after a
// boot, and a tick must not wait for a disk. It is replaced as a whole, so that a reader finds the old or the new line.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"

namespace lockstep {

// Plain value; thread-compatible.
struct LogPosition {
  std::string boot_id;         // of the kernel, as /proc/sys/kernel/random/boot_id has it
  uint64_t next_sequence = 0;  // of the first record that has not been taken

  bool operator==(const LogPosition& other) const {
    return boot_id == other.boot_id && next_sequence == other.next_sequence;
  }
};

// Of the running kernel; empty where it cannot be read. `fs` is rooted where proc/ is.
std::string ReadBootId(const RootedFs& fs);

// Its line, and back: nothing for a text that is no position. Pure.
std::string FormatLogPosition(const LogPosition& position);
absl::optional<LogPosition> ParseLogPosition(absl::string_view text);

// Not thread-safe.
class LogPositionFile {
 public:
  // In `directory`, which must exist; empty = nothing is kept.
  explicit LogPositionFile(const std::string& directory)
      : path_(directory.empty() ? "" : directory + "/kernel_log.position") {}

  // What was stored last, if it can be read and makes sense.
  absl::optional<LogPosition> Load() const;

  // Does nothing when it is what was stored last.
  absl::Status Store(const LogPosition& position);

 private:
  const std::string path_;
  absl::optional<LogPosition> stored_;  // by us
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_
