// lockstep backup: has the collector copy its history.

#ifndef LOCKSTEP_CLI_COMMANDS_BACKUP_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_BACKUP_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeBackupCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_BACKUP_COMMAND_H_
