// How a process ended, and who told so. Plain value; thread-compatible.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_EXIT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_EXIT_H_

#include <sys/wait.h>

#include <cstdint>

namespace lockstep {

enum class ExitSource {
  kNone,       // nobody: it is gone, and code and signal are not known
  kPidfd,      // the kernel, asked after the process was reaped
  kZombie,     // its stat file, before it was reaped
  kConnector,  // the kernel's process connector
};

struct ProcessExit {
  ExitSource source = ExitSource::kNone;
  int32_t code = 0;    // exit code; 0 as well where a signal ended it
  int32_t signal = 0;  // 0 = it ended by itself
  bool core_dumped = false;
  int64_t at_ns = 0;         // CLOCK_MONOTONIC, at the latest
  int64_t uncertain_ns = 0;  // by how much it may have been earlier
};

// Takes the status apart, as wait(2) gives it.
inline void SetStatus(ExitSource source, int status, ProcessExit& end) {
  end.source = source;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_EXIT_H_
