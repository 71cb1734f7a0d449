// `lockstep eval metamorphic`: whether verdicts follow when recordings are changed in ways that tell what must follow.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_METAMORPHIC_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_METAMORPHIC_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// Of each of arguments.paths, or of a few episodes of the suites where there are none. InvalidArgument for a suite or
// relation that does not exist; the other arguments are taken as checked. Writes to context.out, and what cannot be
// read to context.err.
absl::StatusOr<ExitCode> EvaluateMetamorphic(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_METAMORPHIC_H_
