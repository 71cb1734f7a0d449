// `lockstep replay`: the detector over a capture, and whether it concludes what the live one did. docs/cli.md shows the
// output.

#ifndef LOCKSTEP_CLI_COMMANDS_REPLAY_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_REPLAY_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run.
std::unique_ptr<Command> MakeReplayCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_REPLAY_COMMAND_H_
