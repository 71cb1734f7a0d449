// `lockstep eval fleets`: how good the judge of files is in the worlds of the second simulator.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_FLEETS_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_FLEETS_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// --suite is a kind, else all take turns. INVALID_ARGUMENT = there is no such kind; the other arguments are taken as
// checked. Writes to context.out.
absl::StatusOr<ExitCode> EvaluateFleets(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_FLEETS_H_
