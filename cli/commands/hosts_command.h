// lockstep hosts: who reports, who should and does not, and whom nobody expects any more.

#ifndef LOCKSTEP_CLI_COMMANDS_HOSTS_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_HOSTS_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeHostsCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_HOSTS_COMMAND_H_
