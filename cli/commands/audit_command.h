// lockstep audit: who changed what, and whose calls were refused.

#ifndef LOCKSTEP_CLI_COMMANDS_AUDIT_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_AUDIT_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeAuditCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_AUDIT_COMMAND_H_
