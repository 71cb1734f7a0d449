// `lockstep diagnose`: who or what makes a job slow or stuck, from files. docs/cli.md shows the output.

#ifndef LOCKSTEP_CLI_COMMANDS_DIAGNOSE_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_DIAGNOSE_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeDiagnoseCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_DIAGNOSE_COMMAND_H_
