// `lockstep patterns`: on what a rank spent its time, or what differs between two, from profiles of PyTorch.

#ifndef LOCKSTEP_CLI_COMMANDS_PATTERNS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_PATTERNS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakePatternsCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_PATTERNS_COMMAND_H_
