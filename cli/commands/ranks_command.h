// `lockstep ranks`: the processes of one job: where they run, how far they are, where their time goes. docs/cli.md
// shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_RANKS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_RANKS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeRanksCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_RANKS_COMMAND_H_
