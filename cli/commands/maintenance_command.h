// lockstep maintenance: windows of time in which nobody is called about hosts and jobs.

#ifndef LOCKSTEP_CLI_COMMANDS_MAINTENANCE_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_MAINTENANCE_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeMaintenanceCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_MAINTENANCE_COMMAND_H_
