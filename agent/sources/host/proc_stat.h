// /proc/stat: where the CPUs' time went, and how many tasks want one.

#ifndef LOCKSTEP_AGENT_SOURCES_HOST_PROC_STAT_H_
#define LOCKSTEP_AGENT_SOURCES_HOST_PROC_STAT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Clock ticks of all CPUs together since boot. `busy` includes system and steal, not iowait.
struct CpuTicks {
  uint64_t total = 0;
  uint64_t busy = 0;
  uint64_t system = 0;  // kernel, interrupts included
  uint64_t iowait = 0;
  uint64_t steal = 0;
};

struct ProcStat {
  CpuTicks cpu;
  uint64_t context_switches = 0;
  uint64_t runnable_tasks = 0;
  uint64_t blocked_tasks = 0;
};

// DATA_LOSS when the line of all CPUs is missing or is not one. Unknown lines are skipped. Pure.
absl::StatusOr<ProcStat> ParseProcStat(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_HOST_PROC_STAT_H_
