// `lockstep history`: samples of one metric, as the collector kept them. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_HISTORY_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_HISTORY_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeHistoryCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_HISTORY_COMMAND_H_
