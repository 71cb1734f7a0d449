// `lockstep whatif`: what removing each cause that was found would give back, from files or of jobs that run.
// docs/cli.md shows it.

#ifndef LOCKSTEP_CLI_COMMANDS_WHATIF_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_WHATIF_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeWhatIfCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_WHATIF_COMMAND_H_
