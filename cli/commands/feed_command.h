// `lockstep feed`: plays recordings to a running collector, as one agent per host.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_FEED_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_FEED_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeFeedCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_FEED_COMMAND_H_
