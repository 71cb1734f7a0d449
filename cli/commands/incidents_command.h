// `lockstep incidents`: a list of incidents, one incident, or a feed of what happens to them. docs/cli.md shows the
// output.

#ifndef LOCKSTEP_CLI_COMMANDS_INCIDENTS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_INCIDENTS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeIncidentsCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_INCIDENTS_COMMAND_H_
