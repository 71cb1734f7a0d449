// `lockstep eval collectives`: how good localization from operation records is.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_COLLECTIVES_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_COLLECTIVES_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// InvalidArgument for a suite that does not exist; the other arguments are taken as checked. Writes to context.out.
absl::StatusOr<ExitCode> EvaluateCollectives(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_COLLECTIVES_H_
