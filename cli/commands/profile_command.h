// lockstep profile: how functions of ranks behave in a few steps of a running job, and what is different in it.

#ifndef LOCKSTEP_CLI_COMMANDS_PROFILE_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_PROFILE_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeProfileCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_PROFILE_COMMAND_H_
