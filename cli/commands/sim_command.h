// `lockstep sim`: simulates a training job, with or without faults, and writes what recorders would have seen of it.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_SIM_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_SIM_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeSimCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_SIM_COMMAND_H_
