// lockstep ack: says that somebody has an incident in hand, or takes that back.

#ifndef LOCKSTEP_CLI_COMMANDS_ACK_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_ACK_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeAckCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_ACK_COMMAND_H_
