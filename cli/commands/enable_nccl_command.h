// `lockstep enable-nccl`: makes NCCL load Lockstep's recorder, for a machine (/etc/nccl.conf) or for one job (its
// environment). docs/nccl.md explains both.

#ifndef LOCKSTEP_CLI_COMMANDS_ENABLE_NCCL_COMMAND_H_
#define LOCKSTEP_CLI_COMMANDS_ENABLE_NCCL_COMMAND_H_

#include <memory>

#include "cli/command.h"

namespace lockstep {

// Not thread-safe; made for one run. Without --write nothing is changed.
std::unique_ptr<Command> MakeEnableNcclCommand();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_ENABLE_NCCL_COMMAND_H_
