// The table of what an agent can be asked to look at: a new kind is a folder beside agent/stacks and a row here.

#ifndef LOCKSTEP_AGENT_DEMAND_TABLE_H_
#define LOCKSTEP_AGENT_DEMAND_TABLE_H_

#include "agent/agent.h"
#include "agent/config.h"

namespace lockstep {

// The kinds that `options` leave switched on, and the endpoint where processes register for profiles, if they may. That
// one is missing too where the root of the options cannot be opened, which Agent::Create says.
AgentDemands OpenDemands(const AgentOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_DEMAND_TABLE_H_
