// lockstep top: jobs and what is wrong with them, renewed in place.

#ifndef LOCKSTEP_CLI_COMMANDS_TOP_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_TOP_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeTopCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_TOP_COMMAND_H_
