// Whether an address is one that a call would return to: what stands right before it.

#ifndef LOCKSTEP_AGENT_STACKS_CALL_SITE_H_
#define LOCKSTEP_AGENT_STACKS_CALL_SITE_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// Plain value; thread-compatible.
struct CallSite {
  uint64_t target = 0;  // what is called; 0 = known only when it runs
};

// The call of x86-64 that ends at `address`; none = there is no call, or it cannot be read.
absl::optional<CallSite> CallBefore(RemoteMemory& memory, uint64_t address);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_CALL_SITE_H_
