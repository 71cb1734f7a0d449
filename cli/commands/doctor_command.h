// `lockstep doctor`: whether the processes of this machine are being recorded, and why not. Asks no collector.

#ifndef LOCKSTEP_CLI_COMMANDS_DOCTOR_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_DOCTOR_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run. Exit codes: 0 all that communicate are recorded, 1 one is not, 3 a process that
// may not be looked at, 5 no such process.
std::unique_ptr<Command> MakeDoctorCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_DOCTOR_COMMAND_H_
