// lockstep dump: what the threads of ranks do, looked at now.

#ifndef LOCKSTEP_CLI_COMMANDS_DUMP_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_DUMP_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeDumpCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_DUMP_COMMAND_H_
