// `lockstep capture`: everything that the collector received for one job, as a file. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_CAPTURE_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_CAPTURE_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeCaptureCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_CAPTURE_COMMAND_H_
