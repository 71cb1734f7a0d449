// `lockstep train`: fits the models of Minder to counter histories and writes them to one file.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_TRAIN_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_TRAIN_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

std::unique_ptr<Command> MakeTrainCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_TRAIN_COMMAND_H_
