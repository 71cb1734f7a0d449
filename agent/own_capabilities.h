// What this process may do beyond what its user may.
//
// Not thread-safe: capabilities belong to threads, and threads that are begun later inherit them.

#ifndef LOCKSTEP_AGENT_OWN_CAPABILITIES_H_
#define LOCKSTEP_AGENT_OWN_CAPABILITIES_H_

namespace lockstep {

// Takes into effect all that is permitted: a program whose file has capabilities, run by somebody who is not root, has
// them permitted and no more. Logs what the agent needs and lacks, and what it does not see for want of it. To be
// called before the first thread is begun.
void UseOwnCapabilities();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_OWN_CAPABILITIES_H_
