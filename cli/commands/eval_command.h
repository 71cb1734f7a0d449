// `lockstep eval`: how good the detector is, on simulated episodes whose truth is known. docs/quality.md keeps the
// figures and says what they mean.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeEvalCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_COMMAND_H_
