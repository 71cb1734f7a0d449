// The list of what can be made to go wrong in the first simulator: `lockstep sim --list-faults`.

#ifndef LOCKSTEP_CLI_COMMANDS_SIM_FAULTS_H_
#define LOCKSTEP_CLI_COMMANDS_SIM_FAULTS_H_

#include "cli/command.h"

namespace lockstep {

// As a table, or as JSON, whatever the context asks for. Always kOk.
ExitCode ListSimulatedFaults(CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_SIM_FAULTS_H_
