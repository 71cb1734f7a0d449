// What an agent can be asked to look at, one process at a time: rows of a table (agent/demand_table.cc).

#ifndef LOCKSTEP_AGENT_DEMANDS_DEMAND_KIND_H_
#define LOCKSTEP_AGENT_DEMANDS_DEMAND_KIND_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/stop_signal.h"

namespace lockstep {

// The process that a demand is about, as the agent followed it when the demand came. The pid may be another process's
// by the time it is looked at: who looks compares the start time. Plain value; thread-compatible.
struct DemandedProcess {
  std::string job;
  int32_t rank = -1;
  int32_t pid = 0;           // as the host sees it
  uint64_t start_ticks = 0;  // since boot, in clock ticks; with the pid, unique on the host
  uint32_t uid = 0;          // of the user as whom it runs
};

// What the work of one demand is given. Thread-compatible.
struct DemandCall {
  DemandedProcess process;
  std::string parameters;   // a message of the kind, as somebody sent it: may be anything
  int64_t deadline_ns = 0;  // CLOCK_MONOTONIC: nobody waits for the answer any more
  StopSignal& stop;         // the agent ends: come back at once
};

// One row. `work` runs on a thread of its own, beside others of the same kind, and must heed deadline and stop. It
// gives the answer, a message of the kind of at most DemandRunner::kMaxAnswerBytes, or why there is none. Immutable.
struct DemandKind {
  std::string name;
  std::function<absl::StatusOr<std::string>(const DemandCall& call)> work;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_DEMANDS_DEMAND_KIND_H_
