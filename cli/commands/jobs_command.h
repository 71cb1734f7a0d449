// `lockstep jobs`: the jobs that the collector watches, and how they do. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_JOBS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_JOBS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeJobsCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_JOBS_COMMAND_H_
