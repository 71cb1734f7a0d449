// What the agent itself costs its host, and how to keep that small.

#ifndef LOCKSTEP_AGENT_OWN_USAGE_H_
#define LOCKSTEP_AGENT_OWN_USAGE_H_

#include <cstdint>

namespace lockstep {

// Of this process. Plain value; thread-compatible.
struct OwnUsage {
  int64_t cpu_ns = 0;          // user and system, since its start
  int64_t resident_bytes = 0;  // now; 0 = unknown
};

// Reads the live /proc of this process, whatever root the sources look at. Thread-safe.
OwnUsage ReadOwnUsage();

// To be called once, before there is a second thread: gRPC brings a dozen that allocate little, and without this each
// gets an arena of its own and keeps what it freed.
void KeepMemorySmall();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_OWN_USAGE_H_
