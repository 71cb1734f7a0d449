// How far the kernel log has been read, as one line: "<boot id> <sequence>\n". Pure, but for ReadBootId.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_

#include <cstdint>
#include <string>

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

// Its line, and back: nothing for a text that is no position.
std::string FormatLogPosition(const LogPosition& position);
absl::optional<LogPosition> ParseLogPosition(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_LOG_POSITION_H_
