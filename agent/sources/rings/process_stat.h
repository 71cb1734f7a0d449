// What /proc/<pid>/stat says about a process.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STAT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STAT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/rooted_fs.h"

namespace lockstep {

// Plain value; thread-compatible.
struct ProcessStat {
  char state = '?';          // R, S, D, T, t, Z, X, I
  int32_t parent = 0;        // its pid
  uint64_t cpu_ticks = 0;    // user and system time, in clock ticks
  uint64_t start_ticks = 0;  // since boot, in clock ticks; with the pid, unique on the host
  int exit_status = 0;       // of a zombie, as of wait(2); 0 also for whoever may not look at the process
};

// INVALID_ARGUMENT for a text that is no stat file. The command's name, in parentheses, may contain anything. Pure.
absl::StatusOr<ProcessStat> ParseProcessStat(absl::string_view text);

// NOT_FOUND when there is no such process. `fs` is rooted where proc/ is.
absl::StatusOr<ProcessStat> ReadProcessStat(const RootedFs& fs, int32_t pid);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_STAT_H_
