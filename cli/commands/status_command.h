// `lockstep status`: how the collector and its agents are doing. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_STATUS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_STATUS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeStatusCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_STATUS_COMMAND_H_
