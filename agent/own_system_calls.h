// What this process may ask of the kernel from its start on: nothing that could touch a job, or somebody else's
// machine.
//
// A filter of the kernel's (seccomp, by libseccomp) lets all calls through but those of a table, which end with EPERM:
// signals to others, tracing, memory of others written, priorities, programs, mounts, namespaces, modules, clocks. A
// container runtime leaves a privileged container without a filter; this one is there wherever the agent runs.

#ifndef LOCKSTEP_AGENT_OWN_SYSTEM_CALLS_H_
#define LOCKSTEP_AGENT_OWN_SYSTEM_CALLS_H_

#include "absl/status/status.h"

namespace lockstep {

// Holds for this thread, those that it begins, children, and for good. UNAVAILABLE where the kernel takes no filter:
// the process is then as it was. To be called before the first thread is begun and after UseOwnCapabilities, whose
// calls it forbids.
absl::Status GiveUpSystemCalls();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_OWN_SYSTEM_CALLS_H_
