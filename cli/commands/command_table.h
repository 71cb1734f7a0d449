// All verbs of the command line, in the order of `lockstep --help`. A new verb is one file pair and one row here.
// Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_COMMAND_TABLE_H_
#define LOCKSTEP_CLI_COMMANDS_COMMAND_TABLE_H_

#include "absl/types/span.h"
#include "cli/command.h"

namespace lockstep {

absl::Span<const Verb> AllVerbs();

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_COMMAND_TABLE_H_
