// The spool that the agent's options ask for.

#ifndef LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_
#define LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_

#include <memory>

#include "agent/config.h"
#include "agent/spool/spool.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// nullptr where they ask for none. Waits some seconds for the disk: without what is on it, the agent would not know
// where the one before it has stopped. One that cannot be used is logged and tried again; the agent runs without until
// then.
// Thread-compatible.
std::unique_ptr<Spool> OpenSpool(const AgentOptions& options, const wire::AgentHello& hello);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_
