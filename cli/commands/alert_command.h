// lockstep alert: tries out receivers of alerts, and tells which of them an incident would go to. Asks no collector.

#ifndef LOCKSTEP_CLI_COMMANDS_ALERT_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_ALERT_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeAlertCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_ALERT_COMMAND_H_
