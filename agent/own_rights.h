// What this process may do from its start on: all that it needs, and no more.

#ifndef LOCKSTEP_AGENT_OWN_RIGHTS_H_
#define LOCKSTEP_AGENT_OWN_RIGHTS_H_

namespace lockstep {

// Takes its capabilities into effect, then gives up system calls. Logs what it lacks, and where the kernel lets it give
// up nothing. To be called before the first thread is begun.
void SettleOwnRights();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_OWN_RIGHTS_H_
