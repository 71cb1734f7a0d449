// `lockstep explain`: the causal chain of one incident in sentences. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_EXPLAIN_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_EXPLAIN_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeExplainCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EXPLAIN_COMMAND_H_
