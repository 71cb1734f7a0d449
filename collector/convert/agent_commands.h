// What the engine wishes of agents, as commands on the wire. Pure.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_AGENT_COMMANDS_H_
#define LOCKSTEP_COLLECTOR_CONVERT_AGENT_COMMANDS_H_

#include <string>

#include "detector/model/input.h"
#include "proto/ingest.pb.h"

namespace lockstep {

wire::Command ToCommand(const std::string& job, const PullRequest& request);
wire::Command ToCommand(const std::string& job, const WatchRequest& request);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_AGENT_COMMANDS_H_
