// `lockstep eval patterns`: how good methods are that look at the profiles of a job.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_PATTERNS_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_PATTERNS_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// InvalidArgument for a suite that does not exist; the other arguments are taken as checked. Writes to context.out.
absl::StatusOr<ExitCode> EvaluatePatterns(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_PATTERNS_H_
