// The table of what an agent can be asked to look at: a new kind is a folder beside agent/stacks and a row here.

#ifndef LOCKSTEP_AGENT_DEMAND_TABLE_H_
#define LOCKSTEP_AGENT_DEMAND_TABLE_H_

#include <string>
#include <vector>

#include "agent/config.h"
#include "agent/demands/demand_kind.h"

namespace lockstep {

// The kinds that `options` leave switched on. Pure but for what the work of each does when it is called.
std::vector<DemandKind> DemandTable(const AgentOptions& options);

// What the agent says of them in its hello.
std::vector<std::string> DemandNames(const AgentOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_DEMAND_TABLE_H_
