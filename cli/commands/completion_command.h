// lockstep completion: what makes a shell complete the words of `lockstep`.

#ifndef LOCKSTEP_CLI_COMMANDS_COMPLETION_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_COMPLETION_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeCompletionCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_COMPLETION_COMMAND_H_
