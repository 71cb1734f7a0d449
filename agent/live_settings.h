// Which settings a running agent takes on, and how. Any other needs a restart.

#ifndef LOCKSTEP_AGENT_LIVE_SETTINGS_H_
#define LOCKSTEP_AGENT_LIVE_SETTINGS_H_

#include <vector>

#include "agent/agent.h"
#include "agent/config.h"
#include "daemon/settings_reload.h"

namespace lockstep {

// To be applied by the thread that ticks. Reads `renewed`, changes `in_force` and `agent`; borrows all three.
std::vector<SettingsReload::Applier> LiveAgentSettings(const AgentOptions& renewed, AgentOptions& in_force,
                                                       Agent& agent);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_LIVE_SETTINGS_H_
